// swift-tools-version: 6.2
import PackageDescription

/// The setting that makes warnings errors in the gate, and not for those who depend on the package with a newer compiler.
let warnings: [SwiftSetting] = Context.environment["WARNINGS_ARE_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

/// One set of settings for every Swift target: the strictest the toolchain has.
let settings: [SwiftSetting] =
    warnings + [
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
        // Swift 6.2 wants the lifetime of an `inout OutputSpan` beside a span spelled out; 6.3 infers it.
        .enableExperimentalFeature("Lifetimes"),
    ]

let package = Package(
    name: "swift-authenticated-client",
    products: [
        .library(name: "TokenGeneration", targets: ["TokenGeneration"]),
        .library(name: "Networking", targets: ["Networking"]),
        .library(name: "OAuth2", targets: ["OAuth2"]),
        .library(name: "ResourceServer", targets: ["ResourceServer"]),
        .library(name: "MockNetworking", targets: ["MockNetworking"]),
        .executable(name: "jwt", targets: ["jwt"]),
        .executable(name: "quickstart", targets: ["quickstart"]),
    ],
    targets: [
        // The ladder: nothing depends on a target below it in this list.
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev", "pkg-config"])]),
        .target(name: "CCurl"),
        .systemLibrary(name: "CSocket"),
        .systemLibrary(name: "CProcess"),
        .target(name: "System", dependencies: ["CSocket"], swiftSettings: settings),
        .target(name: "OpenSSLCrypto", dependencies: ["COpenSSL"], swiftSettings: settings),
        .target(name: "TokenGeneration", dependencies: ["OpenSSLCrypto"], swiftSettings: settings),
        .target(name: "Networking", dependencies: ["OpenSSLCrypto", "System", "CCurl"], swiftSettings: settings),
        .target(
            name: "OAuth2",
            dependencies: ["Networking", "TokenGeneration", "OpenSSLCrypto", "System"],
            swiftSettings: settings
        ),
        .target(
            name: "ResourceServer",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "MockNetworking",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto", "System"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "jwt",
            dependencies: ["TokenGeneration", "OAuth2", "Networking", "CProcess"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "quickstart",
            dependencies: ["MockNetworking", "ResourceServer", "OAuth2", "Networking", "TokenGeneration"],
            swiftSettings: settings
        ),

        // Tests. `TestVectors` reads the JSON files in Vectors/ for all of them.
        .target(name: "TestVectors", path: "Tests/TestVectors", swiftSettings: settings),
        // `TestPrograms` starts the programs that tests kill, limit or let share something.
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        .target(
            name: "TestPrograms",
            dependencies: ["CSpawn"],
            path: "Tests/TestPrograms",
            swiftSettings: settings
        ),
        // `TestSupport` keeps thousands of tests from starving each other, and waits for what other threads do soon.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        .testTarget(name: "SystemTests", dependencies: ["System"], swiftSettings: settings),
        .testTarget(
            name: "OpenSSLCryptoTests",
            // COpenSSL for the traps: what OpenSSL does by itself.
            dependencies: ["OpenSSLCrypto", "COpenSSL", "TestVectors"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TokenGenerationTests",
            dependencies: ["TokenGeneration", "OpenSSLCrypto", "TestVectors"],
            swiftSettings: settings
        ),
        // A process of its own for tests that kill it, limit it or look at its memory.
        .executableTarget(
            name: "transfer-peer",
            dependencies: ["Networking"],
            path: "Tests/TransferPeer",
            packageAccess: false,
            swiftSettings: settings
        ),
        .testTarget(
            name: "NetworkingTests",
            dependencies: [
                "Networking", "MockNetworking", "TestPrograms", "TestVectors", "transfer-peer", "TestSupport",
            ],
            swiftSettings: settings
        ),
        // One of several processes that share a token store, for the tests to start and to kill.
        .executableTarget(
            name: "token-rotator",
            dependencies: ["OAuth2", "Networking"],
            path: "Tests/TokenRotator",
            swiftSettings: settings
        ),
        .testTarget(
            name: "OAuth2Tests",
            dependencies: [
                "token-rotator", "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "MockNetworking",
                "System",
                "TestPrograms",
                "TestVectors", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "MockNetworkingTests",
            // COpenSSL for a TLS client that is not ours.
            dependencies: [
                "MockNetworking", "OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto", "COpenSSL", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "jwt", "quickstart", "MockNetworking", "OAuth2", "Networking", "TokenGeneration", "TestVectors",
                "CSpawn", "TestSupport",
            ],
            swiftSettings: settings
        ),
        // Samples are what a user would write: `packageAccess: false` keeps package symbols out of them.
        .testTarget(
            name: "DocumentationTests",
            dependencies: [
                "MockNetworking", "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "TestSupport",
            ],
            packageAccess: false,
            swiftSettings: settings
        ),
        // Against other implementations; skipped unless Tests/Interop/run started them.
        .testTarget(
            name: "InteropTests",
            dependencies: [
                "jwt", "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "TestPrograms", "TestSupport",
            ],
            packageAccess: false,
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// `TESTS=NetworkingTests,OAuth2Tests swift test` builds no other tests.
if let chosen = Context.environment["TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}

// Its main function is libFuzzer's, which only `Tests/Fuzz/run` links.
if Context.environment["FUZZ"] != nil {
    package.products.append(.executable(name: "fuzz", targets: ["fuzz"]))
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: ["CLibFuzzer", "TokenGeneration", "OpenSSLCrypto", "TestVectors"],
            path: "Tests/Fuzz/Targets",
            swiftSettings: settings
        ),
    ]
}
