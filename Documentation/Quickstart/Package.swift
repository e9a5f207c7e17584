// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Quickstart",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(
            name: "swift-networking",
            path: "../..",
            traits: [.defaults, "AsyncHTTPClient", "LoopbackRedirect", "SecureTestServer"]
        ),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .executableTarget(
            name: "Quickstart",
            dependencies: [
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingAsyncHTTPClient", package: "swift-networking"),
                .product(name: "NetworkingInspector", package: "swift-networking"),
                .product(name: "NetworkingOAuth", package: "swift-networking"),
                .product(name: "NetworkingTestServer", package: "swift-networking"),
            ],
            swiftSettings: [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
        )
    ],
    swiftLanguageModes: [.v6]
)
