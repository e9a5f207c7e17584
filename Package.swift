// swift-tools-version: 6.2

import PackageDescription

extension Target.Dependency {
    /// A product of another package that only a trait needs.
    static func product(_ name: String, of package: String, trait: String) -> Target.Dependency {
        .product(name: name, package: package, condition: .when(traits: [trait]))
    }
}

let package = Package(
    name: "swift-networking",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: [
        .library(name: "Networking", targets: ["Networking"]),
        .library(name: "NetworkClient", targets: ["NetworkClient"]),
        .library(name: "NetworkClientLive", targets: ["NetworkClientLive"]),
        .library(name: "NetworkingAsyncHTTPClient", targets: ["NetworkingAsyncHTTPClient"]),
        .library(name: "NetworkingInspector", targets: ["NetworkingInspector"]),
        .library(name: "NetworkingOAuth", targets: ["NetworkingOAuth"]),
        .library(name: "NetworkingSigning", targets: ["NetworkingSigning"]),
        .library(name: "NetworkingSQLite", targets: ["NetworkingSQLite"]),
        .library(name: "NetworkingTelemetry", targets: ["NetworkingTelemetry"]),
        .library(name: "NetworkingTesting", targets: ["NetworkingTesting"]),
        .library(name: "NetworkingTestServer", targets: ["NetworkingTestServer"]),
    ],
    traits: [
        .trait(name: "URLSession", description: "The URLSession transport; on Linux it links FoundationNetworking."),
        .trait(name: "AsyncHTTPClient", description: "NetworkingAsyncHTTPClient: the transport for servers."),
        .trait(name: "Crypto", description: "NetworkingOAuth, NetworkingSigning, and the checksums of downloads."),
        .trait(name: "Inspector", description: "NetworkingInspector's live page: a server on loopback."),
        .trait(
            name: "LoopbackRedirect",
            description: "NetworkingOAuth's receiver of redirects on loopback, for command-line tools; with Crypto.",
            enabledTraits: ["Crypto"]
        ),
        .trait(
            name: "SQLite",
            description: "NetworkingSQLite: stores in SQLite files; on Linux it needs libsqlite3-dev."
        ),
        .trait(name: "Telemetry", description: "NetworkingTelemetry: spans and metrics for any backend."),
        .trait(
            name: "SecureTestServer",
            description: "NetworkingTestServer's TLS and HTTP/2; with TestServer.",
            enabledTraits: ["TestServer"]
        ),
        .trait(name: "TestServer", description: "NetworkingTestServer: a real HTTP server on loopback, for tests."),
        .default(enabledTraits: ["URLSession"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-collections", from: "1.3.0"),
        .package(url: "https://github.com/apple/swift-crypto", from: "4.5.2"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-http-structured-headers", from: "1.7.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.100.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/apple/swift-nio-http2", from: "1.46.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/swhitty/FlyingFox", from: "0.27.0"),
    ],
    targets: [
        // The module that an app imports. It re-exports the feature modules below.
        .target(
            name: "Networking",
            dependencies: [
                "NetworkingAuthentication",
                "NetworkingBackgroundTransfers",
                "NetworkingCaching",
                "NetworkingCalls",
                "NetworkingConnectivity",
                "NetworkingCookies",
                "NetworkingCore",
                "NetworkingMocking",
                "NetworkingObservability",
                "NetworkingResilience",
                "NetworkingTransfers",
                "NetworkingTrust",
                "NetworkingURLSession",
            ]
        ),
        // The next two modules replace conditional imports of Foundation and of the C library. An app does not see
        // them. Their names sort before that of Networking: a file attributes a public type to its first import that
        // has it, and Networking may re-export Foundation.
        .target(name: "CLibraryForNetworking"),
        .target(name: "FoundationForNetworking"),
        // The base of all other modules. It depends on no feature. Tests/Layers/check lists the permitted dependencies.
        .target(
            name: "NetworkingCore",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                .target(
                    name: "NetworkingPrivacy",
                    condition: .when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS])
                ),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "NetworkingAuthentication",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "NetworkingBackgroundTransfers",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                "NetworkingTransfers",
                "NetworkingURLSession",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingCaching",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingCalls",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                "NetworkingTransfers",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingConnectivity",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingCookies",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingMocking",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingObservability",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "NetworkingResilience",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HeapModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingTransfers",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
            ]
        ),
        .target(
            name: "NetworkingTrust",
            dependencies: ["CLibraryForNetworking", "FoundationForNetworking", "NetworkingCore"]
        ),
        .target(
            name: "NetworkingURLSession",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCookies",
                "NetworkingCore",
                "NetworkingTrust",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(name: "NetworkClient", dependencies: ["Networking"]),
        .target(name: "NetworkClientLive", dependencies: ["NetworkClient", "Networking"]),
        .target(
            name: "NetworkingAsyncHTTPClient",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                "NetworkingTrust",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("AsyncHTTPClient", of: "async-http-client", trait: "AsyncHTTPClient"),
                .product("NIOCore", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOEmbedded", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHPACK", of: "swift-nio-http2", trait: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHTTPCompression", of: "swift-nio-extras", trait: "AsyncHTTPClient"),
                .product("NIOHTTP2", of: "swift-nio-http2", trait: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOSSL", of: "swift-nio-ssl", trait: "AsyncHTTPClient"),
            ]
        ),
        // The HAR types of archives and cassettes. It is no product, because no other code uses them.
        .target(
            name: "NetworkingHAR",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ]
        ),
        .target(
            name: "NetworkingInspector",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                "NetworkingHAR",
                "NetworkingObservability",
                "NetworkingResilience",
                .product(name: "DequeModule", package: "swift-collections"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("FlyingFox", of: "FlyingFox", trait: "Inspector"),
            ],
            resources: [
                .embedInCode("Page/inspector.css"),
                .embedInCode("Page/inspector.html"),
                .embedInCode("Page/inspector.js"),
            ]
        ),
        .target(
            name: "NetworkingOAuth",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingAuthentication",
                "NetworkingCore",
                "NetworkingResilience",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
                .product("FlyingSocks", of: "FlyingFox", trait: "LoopbackRedirect"),
            ]
        ),
        // Only Apple's platforms know privacy manifests; elsewhere nothing depends on it.
        .target(name: "NetworkingPrivacy", resources: [.copy("PrivacyInfo.xcprivacy")]),
        .target(
            name: "NetworkingSigning",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingAuthentication",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
                .product("CryptoExtras", of: "swift-crypto", trait: "Crypto"),
                .product("RawStructuredFieldValues", of: "swift-http-structured-headers", trait: "Crypto"),
            ]
        ),
        .target(
            name: "NetworkingSQLite",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCaching",
                "NetworkingConnectivity",
                "NetworkingCookies",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("GRDB", of: "GRDB.swift", trait: "SQLite"),
                .product("GRDBSQLite", of: "GRDB.swift", trait: "SQLite"),
            ]
        ),
        .target(
            name: "NetworkingTelemetry",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingAuthentication",
                "NetworkingCaching",
                "NetworkingCore",
                "NetworkingObservability",
                "NetworkingResilience",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("Metrics", of: "swift-metrics", trait: "Telemetry"),
                .product("Tracing", of: "swift-distributed-tracing", trait: "Telemetry"),
            ]
        ),
        .target(
            name: "NetworkingTesting",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingAuthentication",
                "NetworkingCore",
                "NetworkingHAR",
                "NetworkingMocking",
                "NetworkingResilience",
                "NetworkingTestServer",
                "NetworkingTransfers",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .target(
            name: "NetworkingTestServer",
            dependencies: [
                "CLibraryForNetworking",
                "FoundationForNetworking",
                "NetworkingCore",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("FlyingFox", of: "FlyingFox", trait: "TestServer"),
                .product("NIOCore", of: "swift-nio", trait: "SecureTestServer"),
                .product("NIOEmbedded", of: "swift-nio", trait: "SecureTestServer"),
                .product("NIOHTTP1", of: "swift-nio", trait: "SecureTestServer"),
                .product("NIOHTTP2", of: "swift-nio-http2", trait: "SecureTestServer"),
                .product("NIOPosix", of: "swift-nio", trait: "SecureTestServer"),
                .product("NIOSSL", of: "swift-nio-ssl", trait: "SecureTestServer"),
            ]
        ),
        // Helpers of the test targets. It is no product.
        .target(
            name: "TestSupport",
            dependencies: [
                "Networking", "NetworkingTesting", .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/TestSupport"
        ),
        .testTarget(
            name: "LawsTests",
            dependencies: [
                "Networking",
                "NetworkingInspector",
                "NetworkingOAuth",
                "NetworkingSigning",
                "NetworkingTelemetry",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
                .product("InMemoryTracing", of: "swift-distributed-tracing", trait: "Telemetry"),
                .product("MetricsTestKit", of: "swift-metrics", trait: "Telemetry"),
            ]
        ),
        .testTarget(
            name: "NetworkClientTests",
            dependencies: ["NetworkClient", "NetworkClientLive", "Networking", "NetworkingTesting", "TestSupport"]
        ),
        .testTarget(
            name: "NetworkingTests",
            dependencies: [
                "FoundationForNetworking",
                "Networking",
                "NetworkingAuthentication",
                "NetworkingBackgroundTransfers",
                "NetworkingCaching",
                "NetworkingCalls",
                "NetworkingConnectivity",
                "NetworkingCookies",
                "NetworkingCore",
                "NetworkingMocking",
                "NetworkingObservability",
                "NetworkingResilience",
                "NetworkingTesting",
                "NetworkingTransfers",
                "NetworkingTrust",
                "NetworkingURLSession",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "NetworkingInspectorTests",
            dependencies: [
                "Networking",
                "NetworkingHAR",
                "NetworkingInspector",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("FlyingFox", of: "FlyingFox", trait: "Inspector"),
            ]
        ),
        .testTarget(
            name: "NetworkingOAuthTests",
            dependencies: [
                "Networking",
                "NetworkingOAuth",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .testTarget(
            name: "NetworkingSigningTests",
            dependencies: [
                "FoundationForNetworking",
                "Networking",
                "NetworkingSigning",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
                .product("CryptoExtras", of: "swift-crypto", trait: "Crypto"),
            ]
        ),
        .testTarget(
            name: "NetworkingTestingTests",
            dependencies: [
                "FoundationForNetworking",
                "NetworkClient",
                "Networking",
                "NetworkingTesting",
                "NetworkingTestServer",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
            ]
        ),
        .executableTarget(
            name: "SQLiteWriter",
            dependencies: ["Networking", "NetworkingSQLite"],
            path: "Tests/SQLiteWriter"
        ),
        .testTarget(
            name: "NetworkingSQLiteTests",
            dependencies: [
                "Networking",
                "NetworkingConnectivity",
                "NetworkingCookies",
                "NetworkingSQLite",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("GRDB", of: "GRDB.swift", trait: "SQLite"),
            ]
        ),
        .testTarget(
            name: "NetworkingTelemetryTests",
            dependencies: [
                "Networking",
                "NetworkingTelemetry",
                "NetworkingTesting",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("InMemoryTracing", of: "swift-distributed-tracing", trait: "Telemetry"),
                .product("Metrics", of: "swift-metrics", trait: "Telemetry"),
                .product("MetricsTestKit", of: "swift-metrics", trait: "Telemetry"),
                .product("Tracing", of: "swift-distributed-tracing", trait: "Telemetry"),
            ]
        ),
        .testTarget(
            name: "NetworkingTestServerTests",
            dependencies: [
                "FoundationForNetworking",
                "NetworkingTestServer",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("FlyingSocks", of: "FlyingFox", trait: "TestServer"),
            ]
        ),
        .executableTarget(
            name: "Benchmarks",
            dependencies: [
                "Networking",
                "NetworkingAsyncHTTPClient",
                "NetworkingInspector",
                "NetworkingSQLite",
                "NetworkingSigning",
                "NetworkingTelemetry",
                "NetworkingTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Logging", package: "swift-log"),
                .product("AsyncHTTPClient", of: "async-http-client", trait: "AsyncHTTPClient"),
                .product("NIOCore", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHTTP2", of: "swift-nio-http2", trait: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOSSL", of: "swift-nio-ssl", trait: "AsyncHTTPClient"),
            ],
            path: "Tests/Benchmarks"
        ),
        .executableTarget(
            name: "Downloader",
            dependencies: ["Networking", "NetworkingAsyncHTTPClient"],
            path: "Tests/Downloader"
        ),
        .executableTarget(
            name: "OfflineHelper",
            dependencies: [
                "Networking",
                "NetworkingSQLite",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/OfflineHelper"
        ),
        .executableTarget(
            name: "CachingProxy",
            dependencies: [
                "Networking",
                "NetworkingAsyncHTTPClient",
                "NetworkingTestServer",
                .product(name: "HTTPTypes", package: "swift-http-types"),
            ],
            path: "Tests/CachingProxy"
        ),
        .testTarget(
            name: "IntegrationTests",
            dependencies: [
                "CachingProxy",
                "CLibraryForNetworking",
                "Downloader",
                "FoundationForNetworking",
                "Networking",
                "NetworkingAsyncHTTPClient",
                "NetworkingInspector",
                "NetworkingOAuth",
                "NetworkingSigning",
                "NetworkingSQLite",
                "NetworkingTesting",
                "NetworkingTestServer",
                "OfflineHelper",
                "SQLiteWriter",
                "TestSupport",
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product("AsyncHTTPClient", of: "async-http-client", trait: "AsyncHTTPClient"),
                .product("Crypto", of: "swift-crypto", trait: "Crypto"),
                .product("NIOCore", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOEmbedded", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHTTP1", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOHTTP2", of: "swift-nio-http2", trait: "AsyncHTTPClient"),
                .product("NIOPosix", of: "swift-nio", trait: "AsyncHTTPClient"),
                .product("NIOSSL", of: "swift-nio-ssl", trait: "AsyncHTTPClient"),
            ]
        ),
    ],
    swiftLanguageModes: [.v6]
)

// The package manager compiles a target again when a module on which it depends itself has changed, not one that such a
// module re-exports.
let reexported = package.targets.first { $0.name == "Networking" }?.dependencies ?? []
for target in package.targets {
    let isDependent = target.dependencies.contains {
        if case .byNameItem("Networking", _) = $0 { true } else { false }
    }
    if isDependent {
        target.dependencies += reexported.filter { dependency in
            guard case .byNameItem(let name, _) = dependency else { return false }
            return !target.dependencies.contains { if case .byNameItem(name, _) = $0 { true } else { false } }
        }
    }

    var settings = target.swiftSettings ?? []
    settings += [
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0335-existential-any.md
        .enableUpcomingFeature("ExistentialAny"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0409-access-level-on-imports.md
        .enableUpcomingFeature("InternalImportsByDefault"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0444-member-import-visibility.md
        .enableUpcomingFeature("MemberImportVisibility"),
        // https://github.com/swiftlang/swift-evolution/blob/main/proposals/0461-async-function-isolation.md
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    ]
    target.swiftSettings = settings
}
