// swift-tools-version: 6.2
import PackageDescription

/// Checks in the gate, but not in dependent packages: newer compilers may report new warnings, and
/// which module declares a member of a C structure depends on the configuration.
let checks: [SwiftSetting] =
    Context.environment["WARNINGS_ARE_ERRORS"] == nil
    ? [] : [.treatAllWarnings(as: .error), .enableUpcomingFeature("MemberImportVisibility")]

/// The settings of every Swift target: the strictest that the toolchain has.
let settings: [SwiftSetting] =
    checks + [
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
        // Swift 6.2 requires the explicit lifetime of an `inout OutputSpan` next to a span; 6.3
        // infers it.
        .enableExperimentalFeature("Lifetimes"),
    ]

let package = Package(
    name: "swift-authenticated-client",
    products: [
        .library(name: "TokenGeneration", targets: ["TokenGeneration"]),
        .library(name: "Networking", targets: ["Networking"]),
        .library(name: "OAuth2", targets: ["OAuth2"]),
        .library(name: "HTTPSignatures", targets: ["HTTPSignatures"]),
        .library(name: "ResourceServer", targets: ["ResourceServer"]),
        .library(name: "SharedStores", targets: ["SharedStores"]),
        .library(name: "WorkloadIdentity", targets: ["WorkloadIdentity"]),
        .library(name: "WebSignIn", targets: ["WebSignIn"]),
        .library(name: "MockNetworking", targets: ["MockNetworking"]),
        .executable(name: "jwt", targets: ["jwt"]),
        .executable(name: "quickstart", targets: ["quickstart"]),
    ],
    targets: [
        // The ladder: targets depend only on targets above them in this list.
        .systemLibrary(name: "COpenSSL", pkgConfig: "openssl", providers: [.apt(["libssl-dev", "pkg-config"])]),
        .target(name: "CBase64"),
        .target(name: "CZlib"),
        .target(name: "CCurl", dependencies: ["CZlib"]),
        .systemLibrary(name: "CSocket"),
        .target(name: "CProcess"),
        // Not `System`: swift-nio takes a module of that name for Apple's.
        .target(name: "SystemIO", dependencies: ["CSocket"], swiftSettings: settings),
        .target(name: "OpenSSLCrypto", dependencies: ["COpenSSL"], swiftSettings: settings),
        .target(name: "Compression", dependencies: ["CZlib"], swiftSettings: settings),
        .target(
            name: "TokenGeneration",
            dependencies: ["OpenSSLCrypto", "Compression", "CBase64"],
            swiftSettings: settings
        ),
        .target(name: "Networking", dependencies: ["OpenSSLCrypto", "SystemIO", "CCurl"], swiftSettings: settings),
        .target(
            name: "OAuth2",
            dependencies: ["Networking", "TokenGeneration", "OpenSSLCrypto", "SystemIO"],
            swiftSettings: settings
        ),
        .target(
            name: "HTTPSignatures",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "ResourceServer",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "SharedStores",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "WorkloadIdentity",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "WebSignIn",
            dependencies: ["SharedStores", "OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto"],
            swiftSettings: settings
        ),
        .target(
            name: "MockNetworking",
            dependencies: ["OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto", "SystemIO", "COpenSSL"],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "jwt",
            dependencies: [
                "HTTPSignatures", "TokenGeneration", "OAuth2", "SharedStores", "WorkloadIdentity", "Networking",
                "OpenSSLCrypto", "CProcess",
            ],
            swiftSettings: settings
        ),
        .executableTarget(
            name: "quickstart",
            dependencies: ["MockNetworking", "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "CProcess"],
            swiftSettings: settings
        ),

        // `TestVectors` reads the JSON files in Vectors/ for all tests.
        .target(name: "TestVectors", path: "Tests/TestVectors", swiftSettings: settings),
        // `TestPrograms` starts child processes that tests kill, limit or let share resources.
        .systemLibrary(name: "CSpawn", path: "Tests/CSpawn"),
        .target(
            name: "TestPrograms",
            dependencies: ["CSpawn"],
            path: "Tests/TestPrograms",
            swiftSettings: settings
        ),
        // `TestSupport` limits concurrent tests.
        .target(name: "TestSupport", path: "Tests/TestSupport", swiftSettings: settings),
        // `TestIssuers` are issuers, with APIs that trust them.
        .target(
            name: "TestIssuers",
            dependencies: ["MockNetworking", "ResourceServer", "OAuth2", "Networking", "TokenGeneration"],
            path: "Tests/TestIssuers",
            swiftSettings: settings
        ),
        // `COpenSSLCalls` records a test's calls of OpenSSL.
        .target(name: "COpenSSLCalls", path: "Tests/COpenSSLCalls"),
        .testTarget(name: "SystemIOTests", dependencies: ["SystemIO", "TestSupport"], swiftSettings: settings),
        .testTarget(
            name: "OpenSSLCryptoTests",
            // COpenSSL for tests of OpenSSL's own behavior.
            dependencies: ["OpenSSLCrypto", "COpenSSL", "TestVectors", "TestSupport", "COpenSSLCalls"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "TokenGenerationTests",
            dependencies: ["TokenGeneration", "OpenSSLCrypto", "TestVectors", "TestSupport", "COpenSSLCalls"],
            swiftSettings: settings
        ),
        // A process that tests kill, limit or inspect.
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
                "Networking", "MockNetworking", "SystemIO", "TestPrograms", "TestVectors", "transfer-peer",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        // A process that shares a token store. Tests start and kill several of them.
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
                "SystemIO", "TestIssuers", "TestPrograms", "TestVectors", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ResourceServerTests",
            dependencies: [
                "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "MockNetworking", "TestIssuers",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "HTTPSignaturesTests",
            dependencies: [
                "HTTPSignatures", "ResourceServer", "OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto",
                "MockNetworking", "TestVectors", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SharedStoresTests",
            dependencies: ["SharedStores", "OAuth2", "Networking", "TokenGeneration", "MockNetworking", "TestSupport"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WorkloadIdentityTests",
            dependencies: [
                "WorkloadIdentity", "OAuth2", "Networking", "TokenGeneration", "MockNetworking", "TestVectors",
                "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "WebSignInTests",
            dependencies: [
                "WebSignIn", "SharedStores", "OAuth2", "Networking", "TokenGeneration", "MockNetworking", "TestSupport",
            ],
            swiftSettings: settings
        ),
        // A host of a fleet that shares a grant. Tests/Fleet/run starts, stops and kills many.
        .executableTarget(
            name: "fleet-host",
            dependencies: ["SharedStores", "OAuth2", "Networking"],
            path: "Tests/FleetHost",
            swiftSettings: settings
        ),
        .testTarget(
            name: "MockNetworkingTests",
            // COpenSSL for an independent TLS client.
            dependencies: [
                "MockNetworking", "OAuth2", "Networking", "TokenGeneration", "OpenSSLCrypto", "COpenSSL", "TestSupport",
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "jwt", "quickstart", "MockNetworking", "HTTPSignatures", "OAuth2", "Networking", "TokenGeneration",
                "TestVectors", "CSpawn", "TestSupport",
            ],
            swiftSettings: settings
        ),
        // `.ci/samples` compiles the samples.
        .testTarget(name: "DocumentationTests", dependencies: ["TestSupport"], swiftSettings: settings),
        // Tests with other implementations, skipped unless Tests/Interop/run started them.
        .testTarget(
            name: "InteropTests",
            dependencies: [
                "jwt", "MockNetworking", "ResourceServer", "HTTPSignatures", "SharedStores", "WorkloadIdentity",
                "WebSignIn", "OAuth2", "Networking", "TokenGeneration", "TestPrograms", "TestSupport",
            ],
            packageAccess: false,
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)

// `TESTS=NetworkingTests,OAuth2Tests swift test` builds only these tests.
if let chosen = Context.environment["TESTS"]?.split(separator: ",").map(String.init) {
    package.targets.removeAll { $0.type == .test && !chosen.contains($0.name) }
}

// `WITHOUT_TEST_FILES="Tests/OAuth2Tests/Keys/RemoteKeySetTests.swift …" swift test` omits files.
if let files = Context.environment["WITHOUT_TEST_FILES"]?.split(separator: " ") {
    for target in package.targets where target.type == .test {
        let folder = "Tests/\(target.name)/"
        target.exclude += files.filter { $0.hasPrefix(folder) }.map { String($0.dropFirst(folder.count)) }
    }
}

// `Tests/Fuzz/run` passes the path of libFuzzer.
if let libFuzzer = Context.environment["LIB_FUZZER"] {
    package.products.append(.executable(name: "fuzz", targets: ["fuzz"]))
    package.targets += [
        .systemLibrary(name: "CLibFuzzer", path: "Tests/Fuzz/CLibFuzzer"),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CLibFuzzer", "WorkloadIdentity", "SharedStores", "ResourceServer", "OAuth2", "Networking",
                "TokenGeneration", "OpenSSLCrypto", "TestVectors",
            ],
            path: "Tests/Fuzz/Targets",
            swiftSettings: settings,
            linkerSettings: [.unsafeFlags(["-use-ld=lld", libFuzzer]), .linkedLibrary("stdc++")]
        ),
    ]
}
