// swift-tools-version: 6.2
import PackageDescription

let ours = "swift-authenticated-client"
let integrations = "swift-authenticated-client-integrations"

let package = Package(
    name: "shop-web",
    dependencies: [
        .package(url: "https://git.example.com/swift-authenticated-client.git", .upToNextMinor(from: "0.1.0")),
        .package(url: "https://git.example.com/swift-authenticated-client-integrations.git", .upToNextMinor(from: "0.1.0")),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
    ],
    targets: [
        .executableTarget(
            name: "shop-web",
            dependencies: [
                .product(name: "WebSignIn", package: ours),
                .product(name: "SharedStores", package: ours),
                .product(name: "OAuth2", package: ours),
                .product(name: "Networking", package: ours),
                .product(name: "MockNetworking", package: ours),
                .product(name: "HummingbirdSignIn", package: integrations),
                .product(name: "Hummingbird", package: "hummingbird"),
            ]
        ),
        .testTarget(
            name: "ShopWebTests",
            dependencies: [
                "shop-web",
                .product(name: "MockNetworking", package: ours),
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
