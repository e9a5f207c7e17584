// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "Examples",
    platforms: [.macOS(.v15)],
    dependencies: [
        .package(
            name: "swift-networking",
            path: "../..",
            traits: [.defaults, "LoopbackRedirect", "SQLite", "TestServer", "Valkey"]
        ),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
    ],
    targets: [
        // The servers that the programs talk to. An app does not need this target.
        .target(
            name: "Backend",
            dependencies: [
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingTestServer", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "IPInfo",
            dependencies: [
                "Backend",
                .product(name: "NetworkClient", package: "swift-networking"),
                .product(name: "NetworkClientLive", package: "swift-networking"),
                .product(name: "Networking", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "GitHub",
            dependencies: ["Backend", .product(name: "Networking", package: "swift-networking")]
        ),
        .executableTarget(
            name: "Login",
            dependencies: ["Backend", .product(name: "Networking", package: "swift-networking")]
        ),
        .executableTarget(
            name: "DownloadManager",
            dependencies: ["Backend", .product(name: "Networking", package: "swift-networking")]
        ),
        .executableTarget(
            name: "Gallery",
            dependencies: [
                "Backend",
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingSQLite", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "Chat",
            dependencies: ["Backend", .product(name: "Networking", package: "swift-networking")]
        ),
        .executableTarget(
            name: "S3Upload",
            dependencies: [
                "Backend",
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingSigning", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "SignIn",
            dependencies: [
                "Backend",
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingOAuth", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "Spotify",
            dependencies: [
                "Backend",
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingOAuth", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "ManyMachines",
            dependencies: [
                "Backend",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingValkey", package: "swift-networking"),
            ]
        ),
        .executableTarget(
            name: "Migration",
            dependencies: ["Backend", .product(name: "Networking", package: "swift-networking")]
        ),
    ],
    swiftLanguageModes: [.v6]
)

for target in package.targets {
    target.swiftSettings = [.enableUpcomingFeature("NonisolatedNonsendingByDefault")]
}
