// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "vectors",
    dependencies: [.package(name: "swift-authenticated-client", path: "../..")],
    targets: [
        .testTarget(
            name: "VectorTests",
            dependencies: [.product(name: "TokenGeneration", package: "swift-authenticated-client")]
        )
    ],
    swiftLanguageModes: [.v6]
)
