// swift-tools-version: 6.2
import PackageDescription

let ours = "swift-authenticated-client"
let integrations = "swift-authenticated-client-integrations"

let package = Package(
    name: "reports-service",
    dependencies: [
        .package(url: "https://git.example.com/swift-authenticated-client.git", .upToNextMinor(from: "0.1.0")),
        .package(url: "https://git.example.com/swift-authenticated-client-integrations.git", .upToNextMinor(from: "0.1.0")),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "reports-service",
            dependencies: [
                .product(name: "Networking", package: ours),
                .product(name: "OAuth2", package: ours),
                .product(name: "ResourceServer", package: ours),
                .product(name: "HummingbirdResourceServer", package: integrations),
                .product(name: "OAuth2ServiceLifecycle", package: integrations),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]
        ),
        .testTarget(
            name: "ReportsServiceTests",
            dependencies: [
                "reports-service",
                .product(name: "MockNetworking", package: ours),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
