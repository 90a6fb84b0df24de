// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "dashboard",
    dependencies: [
        .package(path: "../swift-authenticated-client")
    ],
    targets: [
        .target(
            name: "Dashboard",
            dependencies: [
                .product(name: "OAuth2", package: "swift-authenticated-client"),
                .product(name: "Networking", package: "swift-authenticated-client"),
                .product(name: "TokenGeneration", package: "swift-authenticated-client"),
            ]
        )
    ]
)
