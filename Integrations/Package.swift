// swift-tools-version: 6.2
import PackageDescription

/// Treats warnings as errors in the gate, but not for dependent packages.
let warnings: [SwiftSetting] = Context.environment["WARNINGS_ARE_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

let settings: [SwiftSetting] =
    warnings + [
        .strictMemorySafety(),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
    ]

/// A product of the main package.
func ours(_ name: String) -> Target.Dependency { .product(name: name, package: "swift-authenticated-client") }

let asyncHTTPClient = Target.Dependency.product(name: "AsyncHTTPClient", package: "async-http-client")
let httpTypes = Target.Dependency.product(name: "HTTPTypes", package: "swift-http-types")
let hummingbird = Target.Dependency.product(name: "Hummingbird", package: "hummingbird")
let lifecycle = Target.Dependency.product(name: "ServiceLifecycle", package: "swift-service-lifecycle")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let metrics = Target.Dependency.product(name: "Metrics", package: "swift-metrics")
let nioCore = Target.Dependency.product(name: "NIOCore", package: "swift-nio")
let nioHTTP1 = Target.Dependency.product(name: "NIOHTTP1", package: "swift-nio")
let openAPI = Target.Dependency.product(
    name: "OpenAPIRuntime",
    package: "swift-openapi-runtime",
    condition: .when(traits: ["OpenAPI"])
)
let nioSSL = Target.Dependency.product(name: "NIOSSL", package: "swift-nio-ssl")
let tracing = Target.Dependency.product(name: "Tracing", package: "swift-distributed-tracing")

/// A library of the package, and the target of the same name.
func library(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .target(name: name, dependencies: dependencies, swiftSettings: settings)
}

func tests(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
    .testTarget(name: name + "Tests", dependencies: [.byName(name: name)] + dependencies, swiftSettings: settings)
}

// A separate package, so that the main package has no dependencies.
let libraries = [
    library("ClientLogging", [ours("Networking"), logging]),
    library("ClientMetrics", [ours("Networking"), metrics]),
    library("ClientTracing", [ours("Networking"), tracing]),
    library("OAuth2HTTPTypes", [ours("OAuth2"), ours("Networking"), httpTypes]),
    library(
        "OAuth2AsyncHTTPClient",
        [ours("OAuth2"), ours("Networking"), asyncHTTPClient, logging, nioCore, nioHTTP1]
    ),
    library("OAuth2OpenAPI", ["OAuth2HTTPTypes", ours("OAuth2"), httpTypes, openAPI]),
    library("OAuth2ServiceLifecycle", ["ClientLogging", ours("OAuth2"), ours("Networking"), lifecycle, logging]),
    library(
        "HummingbirdResourceServer",
        [
            "OAuth2HTTPTypes", ours("ResourceServer"), ours("OAuth2"), ours("Networking"), ours("TokenGeneration"),
            hummingbird,
            httpTypes, logging, nioCore, nioSSL,
        ]
    ),
    library(
        "HummingbirdSignIn",
        [ours("WebSignIn"), ours("Networking"), hummingbird, httpTypes, logging, nioCore]
    ),
]

let package = Package(
    name: "Integrations",
    products: libraries.map { .library(name: $0.name, targets: [$0.name]) },
    // Without the trait, SwiftPM doesn't load swift-openapi-runtime.
    traits: [.trait(name: "OpenAPI", description: "Middlewares of swift-openapi-runtime, in OAuth2OpenAPI")],
    dependencies: [
        .package(name: "swift-authenticated-client", path: ".."),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-types.git", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio.git", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-nio-ssl.git", from: "2.37.6"),
        .package(url: "https://github.com/apple/swift-openapi-runtime.git", from: "1.9.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.28.1"),
        .package(url: "https://github.com/swift-server/async-http-client.git", from: "1.37.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle.git", from: "2.13.0"),
    ],
    targets: libraries + [
        // A client with an authenticator, scripted servers, and kept log records.
        .target(
            name: "ObservedService",
            dependencies: [ours("Networking"), ours("OAuth2"), ours("MockNetworking"), logging],
            path: "Tests/ObservedService",
            swiftSettings: settings
        ),
        tests(
            "ClientLogging",
            ["ObservedService", ours("Networking"), ours("OAuth2"), ours("MockNetworking"), logging]
        ),
        tests(
            "ClientMetrics",
            [
                "ObservedService", ours("Networking"), ours("OAuth2"), ours("MockNetworking"), metrics,
                .product(name: "CoreMetrics", package: "swift-metrics"),
            ]
        ),
        tests("ClientTracing", ["ObservedService", ours("Networking"), ours("MockNetworking"), tracing]),
        tests("OAuth2HTTPTypes", [ours("OAuth2"), ours("Networking"), ours("MockNetworking"), httpTypes]),
        tests(
            "OAuth2AsyncHTTPClient",
            [ours("OAuth2"), ours("Networking"), ours("MockNetworking"), asyncHTTPClient, nioCore, nioHTTP1]
        ),
        // One table of cases over `NetworkClient`, an OpenAPI middleware and async-http-client.
        .testTarget(
            name: "ThreeClientsTests",
            dependencies: [
                "OAuth2HTTPTypes", "OAuth2OpenAPI", "OAuth2AsyncHTTPClient", ours("OAuth2"), ours("Networking"),
                ours("MockNetworking"), asyncHTTPClient, httpTypes, nioCore, nioHTTP1, openAPI,
            ],
            swiftSettings: settings
        ),
        tests(
            "OAuth2ServiceLifecycle",
            [
                "ClientLogging", ours("OAuth2"), ours("Networking"), ours("MockNetworking"), lifecycle, logging,
                .product(name: "ServiceLifecycleTestKit", package: "swift-service-lifecycle"),
            ]
        ),
        tests(
            "HummingbirdResourceServer",
            [
                "OAuth2HTTPTypes", "ObservedService", ours("ResourceServer"), ours("OAuth2"), ours("Networking"),
                ours("TokenGeneration"), ours("MockNetworking"),
                hummingbird, httpTypes, logging, nioCore, nioSSL,
                .product(name: "HummingbirdTesting", package: "hummingbird"),
                .product(name: "HummingbirdTLS", package: "hummingbird"),
                .product(name: "HummingbirdCore", package: "hummingbird"),
            ]
        ),
        tests(
            "HummingbirdSignIn",
            [
                "ObservedService", ours("WebSignIn"), ours("SharedStores"), ours("OAuth2"), ours("Networking"),
                ours("TokenGeneration"), ours("MockNetworking"),
                hummingbird, httpTypes, logging, nioCore,
                .product(name: "HummingbirdTesting", package: "hummingbird"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
