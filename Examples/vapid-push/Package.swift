// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "vapid-push",
    dependencies: [
        .package(url: "https://git.example.com/swift-authenticated-client.git", .upToNextMinor(from: "0.1.0"))
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
