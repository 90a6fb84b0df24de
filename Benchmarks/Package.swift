// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it depends on peers to compare with, which must stay out of the product's graph.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-authenticated-client", path: ".."),
        .package(url: "https://github.com/vapor/jwt-kit.git", exact: "5.7.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
        // For the names of async-http-client's own types.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    ],
    targets: [
        // What OpenSSL alone needs for the same work.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("crypto")]),
        // Counts calls of malloc and its kin in the whole process.
        .target(name: "CAllocations"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CFloor", "CAllocations",
                .product(name: "TokenGeneration", package: "swift-authenticated-client"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Networking", package: "swift-authenticated-client"),
                .product(name: "OAuth2", package: "swift-authenticated-client"),
                .product(name: "ResourceServer", package: "swift-authenticated-client"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: [
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("InternalImportsByDefault"),
                .enableUpcomingFeature("MemberImportVisibility"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
            ],
            // So that the libraries' calls of malloc come to the counting one.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"])]
        ),
    ],
    swiftLanguageModes: [.v6]
)
