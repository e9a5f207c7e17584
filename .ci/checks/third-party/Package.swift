// swift-tools-version: 6.2

import PackageDescription

// A package that extends the library, as another developer would write it. `check` compiles and runs it without the
// package manager.
let package = Package(
    name: "ThirdParty",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "ThirdParty", targets: ["ThirdParty"])
    ],
    dependencies: [
        .package(name: "swift-networking", path: "../../..", traits: ["TestServer"]),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
    ],
    targets: [
        .target(
            name: "ThirdParty",
            dependencies: [
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Networking", package: "swift-networking"),
            ]
        ),
        .testTarget(
            name: "ThirdPartyTests",
            dependencies: [
                "ThirdParty",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Networking", package: "swift-networking"),
                .product(name: "NetworkingTestServer", package: "swift-networking"),
                .product(name: "NetworkingTesting", package: "swift-networking"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)
