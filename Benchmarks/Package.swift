// swift-tools-version: 6.2
import PackageDescription

// A separate package, so the libraries that it compares stay out of the product's dependency graph.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-authenticated-client", path: ".."),
        .package(url: "https://github.com/vapor/jwt-kit.git", exact: "5.7.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", exact: "1.37.0"),
        // For the types in async-http-client's API.
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
    ],
    targets: [
        // The same operations with OpenSSL alone.
        .target(name: "CFloor", linkerSettings: [.linkedLibrary("crypto")]),
        // Counts the allocations of the process.
        .target(name: "CAllocations"),
        .executableTarget(
            name: "bench",
            dependencies: [
                "CFloor", "CAllocations",
                .product(name: "TokenGeneration", package: "swift-authenticated-client"),
                .product(name: "JWTKit", package: "jwt-kit"),
                .product(name: "Networking", package: "swift-authenticated-client"),
                .product(name: "HTTPSignatures", package: "swift-authenticated-client"),
                .product(name: "OAuth2", package: "swift-authenticated-client"),
                .product(name: "ResourceServer", package: "swift-authenticated-client"),
                .product(name: "WorkloadIdentity", package: "swift-authenticated-client"),
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
            // Makes the libraries call the counting malloc.
            linkerSettings: [.unsafeFlags(["-Xlinker", "--export-dynamic"])]
        ),
    ],
    swiftLanguageModes: [.v6]
)
