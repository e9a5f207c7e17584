// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Service",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(
            name: "swift-networking",
            path: "../../..",
            // In a service, leave out TestServer. It has the servers that this program calls.
            traits: ["AsyncHTTPClient", "ServiceLifecycle", "Telemetry", "TestServer"]
        ),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.9.0"),
    ],
    targets: [
        .executableTarget(
            name: "Service",
            dependencies: [
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingAsyncHTTPClient", package: "swift-networking"),
                .product(name: "NetworkingTelemetry", package: "swift-networking"),
                .product(name: "NetworkingTestServer", package: "swift-networking"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
            ],
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        )
    ]
)
