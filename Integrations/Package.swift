// swift-tools-version: 6.2
import PackageDescription

/// Treats warnings as errors in the gate, but not for dependent packages.
let warnings: [SwiftSetting] = Context.environment["WARNINGS_ARE_ERRORS"] == nil ? [] : [.treatAllWarnings(as: .error)]

let settings: [SwiftSetting] =
    warnings + [
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]

/// The products of the root package that the targets use.
let networking: Target.Dependency = .product(name: "Networking", package: "swift-authenticated-client")
let oauth2: Target.Dependency = .product(name: "OAuth2", package: "swift-authenticated-client")
let mocks: Target.Dependency = .product(name: "MockNetworking", package: "swift-authenticated-client")

/// The packages that the targets connect to.
let logging: Target.Dependency = .product(name: "Logging", package: "swift-log")
let metrics: Target.Dependency = .product(name: "Metrics", package: "swift-metrics")
let coreMetrics: Target.Dependency = .product(name: "CoreMetrics", package: "swift-metrics")
let tracing: Target.Dependency = .product(name: "Tracing", package: "swift-distributed-tracing")

// A separate package, because its targets have dependencies.
let package = Package(
    name: "Integrations",
    products: [
        .library(name: "ClientLogging", targets: ["ClientLogging"]),
        .library(name: "ClientMetrics", targets: ["ClientMetrics"]),
        .library(name: "ClientTracing", targets: ["ClientTracing"]),
    ],
    dependencies: [
        .package(name: "swift-authenticated-client", path: ".."),
        .package(url: "https://github.com/apple/swift-log.git", from: "1.6.0"),
        .package(url: "https://github.com/apple/swift-metrics.git", from: "2.5.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing.git", from: "1.2.0"),
    ],
    targets: [
        .target(name: "ClientLogging", dependencies: [networking, logging], swiftSettings: settings),
        .target(name: "ClientMetrics", dependencies: [networking, metrics], swiftSettings: settings),
        .target(name: "ClientTracing", dependencies: [networking, tracing], swiftSettings: settings),
        // A client with an authenticator and scripted servers, for the tests of observers.
        .target(
            name: "ObservedService",
            dependencies: [networking, oauth2, mocks],
            path: "Tests/ObservedService",
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClientLoggingTests",
            dependencies: ["ClientLogging", "ObservedService", networking, oauth2, mocks, logging],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClientMetricsTests",
            dependencies: ["ClientMetrics", "ObservedService", networking, oauth2, mocks, metrics, coreMetrics],
            swiftSettings: settings
        ),
        .testTarget(
            name: "ClientTracingTests",
            dependencies: ["ClientTracing", "ObservedService", networking, mocks, tracing],
            swiftSettings: settings
        ),
    ],
    swiftLanguageModes: [.v6]
)
