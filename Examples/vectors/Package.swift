// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "vectors",
    dependencies: [
        .package(url: "https://git.example.com/swift-authenticated-client.git", .upToNextMinor(from: "0.1.0"))
    ],
    targets: [
        .testTarget(
            name: "VectorTests",
            dependencies: [.product(name: "TokenGeneration", package: "swift-authenticated-client")]
        )
    ],
    swiftLanguageModes: [.v6]
)
