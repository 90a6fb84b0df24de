// swift-tools-version: 6.2
import PackageDescription

// A package of its own: it depends on a peer to compare with, which must stay out of the product's graph.
let package = Package(
    name: "Benchmarks",
    dependencies: [
        .package(name: "swift-authenticated-client", path: ".."),
        .package(url: "https://github.com/vapor/jwt-kit.git", exact: "5.7.1"),
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
