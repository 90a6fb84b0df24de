// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "vapid-push",
    dependencies: [
        // In your package: .package(url: "https://…/swift-authenticated-client", branch: "main")
        .package(name: "swift-authenticated-client", path: "../..")
    ],
    targets: [
        .executableTarget(
            name: "vapid-push",
            dependencies: [.product(name: "TokenGeneration", package: "swift-authenticated-client")]
        ),
        .testTarget(
            name: "VapidPushTests",
            dependencies: [
                "vapid-push", .product(name: "TokenGeneration", package: "swift-authenticated-client"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
