// swift-tools-version: 6.2

import PackageDescription

// MARK: Tables

/// A row of the tables below: a target, and what it depends on.
struct Module {
    let name: String
    /// Targets of this package.
    let uses: [String]
    /// Products of other packages.
    let products: [String]
    /// Products of other packages that only a trait needs, by trait.
    let traits: [String: [String]]

    init(_ name: String, uses: [String] = [], products: [String] = [], traits: [String: [String]] = [:]) {
        (self.name, self.uses, self.products, self.traits) = (name, uses, products, traits)
    }
}

/// The modules that replace conditional imports of Foundation and of the C library.
///
/// An app does not see them. Their names sort before that of Networking: a file attributes a public type to its first
/// import that has it, and Networking may re-export Foundation.
let foundation = "FoundationForNetworking"
let cLibrary = "CLibraryForNetworking"

// The base of all other modules. It depends on no feature. .ci/checks/layers lists the permitted dependencies.
let core = "NetworkingCore"

// What most modules use.
let base = [foundation, core]
let transfers = base + ["NetworkingTransfers"]
let platform = [cLibrary, foundation, core]
let inspector = ["Inspector": ["FlyingFox"]]
let (http, crypto) = (["HTTPTypes"], ["Crypto": ["Crypto"]])

/// The modules that Networking re-exports, each a product, so that an app can build only what it uses.
let features: [Module] = [
    Module("NetworkingAuthentication", uses: base, products: http + ["Logging"]),
    Module("NetworkingBackgroundTransfers", uses: transfers + ["NetworkingURLSession"], products: http),
    Module("NetworkingCaching", uses: base, products: http),
    Module("NetworkingCalls", uses: transfers, products: http),
    Module("NetworkingConnectivity", uses: platform, products: http),
    Module("NetworkingCookies", uses: base, products: http),
    Module("NetworkingMocking", uses: base, products: http),
    Module("NetworkingObservability", uses: platform, products: http + ["Logging"]),
    Module("NetworkingResilience", uses: base, products: http),
    Module(
        "NetworkingTraffic",
        uses: platform + ["NetworkingResilience"],
        products: http,
        traits: ["Configuration": ["Configuration"], "ServiceLifecycle": ["ServiceLifecycle"]]
    ),
    Module("NetworkingTransfers", uses: platform, products: http, traits: crypto),
    Module("NetworkingTrust", uses: platform),
    Module("NetworkingURLSession", uses: platform + ["NetworkingCookies", "NetworkingTrust"], products: http),
]

let reexported = (features.map(\.name) + [core]).sorted()

/// The modules below all products, and the module that collects the features.
let foundations: [Module] = [
    // The module that an app imports.
    Module("Networking", uses: reexported),
    Module(cLibrary),
    Module(foundation),
    // Only Apple's platforms know privacy manifests; elsewhere nothing depends on it.
    Module("NetworkingPrivacy"),
    Module(core, uses: [cLibrary, foundation, "NetworkingPrivacy"], products: http + ["Logging"]),
]

/// The products of SwiftNIO that all its users need.
let nio = ["NIOCore", "NIOHTTP1", "NIOHTTP2", "NIOPosix", "NIOSSL"]

/// The modules that an app imports beside Networking, and those that are no product.
let extras: [Module] = [
    Module("NetworkClient", uses: ["Networking"]),
    Module("NetworkClientLive", uses: ["NetworkClient", "Networking"]),
    Module(
        "NetworkingAsyncHTTPClient",
        uses: platform + ["NetworkingTrust"],
        products: http,
        traits: ["AsyncHTTPClient": ["AsyncHTTPClient", "NIOEmbedded", "NIOHPACK", "NIOHTTPCompression"] + nio]
    ),
    Module(
        "NetworkingInspector",
        uses: platform + ["NetworkingLoopback", "NetworkingObservability", "NetworkingResilience"],
        products: http,
        traits: inspector
    ),
    // The listener of the live page and of the receiver of OAuth redirects. It is no product.
    Module(
        "NetworkingLoopback",
        uses: platform,
        products: http,
        traits: ["Inspector": ["FlyingSocks"], "LoopbackRedirect": ["FlyingSocks"]]
    ),
    Module(
        "NetworkingOAuth",
        uses: platform + ["NetworkingAuthentication", "NetworkingLoopback", "NetworkingResilience"],
        products: http,
        traits: crypto
    ),
    // It knows generated clients by a protocol, because not every app that uses it has swift-openapi-runtime.
    Module("NetworkingOpenAPI", uses: base + ["NetworkingCalls", "NetworkingTransfers"], products: http),
    Module(
        "NetworkingSigning",
        uses: base + ["NetworkingAuthentication"],
        products: http,
        traits: ["Crypto": ["Crypto", "CryptoExtras", "RawStructuredFieldValues"]]
    ),
    Module(
        "NetworkingSQLite",
        uses: platform + [
            "NetworkingAuthentication", "NetworkingCaching", "NetworkingConnectivity", "NetworkingCookies",
            "NetworkingTraffic",
        ],
        products: http,
        traits: ["SQLite": ["GRDB", "GRDBSQLite"]]
    ),
    Module(
        "NetworkingTelemetry",
        uses: base + ["NetworkingObservability", "NetworkingResilience", "NetworkingTraffic"],
        products: http,
        traits: ["Telemetry": ["Metrics", "Tracing"]]
    ),
    Module(
        "NetworkingTesting",
        uses: platform + [
            "NetworkingAuthentication", "NetworkingInspector", "NetworkingMocking", "NetworkingResilience",
            "NetworkingTestServer", "NetworkingTransfers",
        ],
        products: http + ["Logging"]
    ),
    Module(
        "NetworkingTestServer",
        uses: platform,
        products: http,
        traits: ["Crypto": ["Crypto"], "TestServer": ["FlyingFox"], "SecureTestServer": ["NIOEmbedded"] + nio]
    ),
    Module(
        "NetworkingValkey",
        uses: platform + ["NetworkingAuthentication", "NetworkingCaching", "NetworkingTraffic"],
        products: http,
        traits: ["Valkey": ["Crypto", "NIOCore", "NIOPosix", "NIOSSL"]]
    ),
    // Helpers of the test targets. It is no product.
    Module("TestSupport", uses: ["Networking", "NetworkingTesting"], products: http),
]

/// The programs that tests run, and the benchmarks.
let programs: [Module] = [
    Module("AnsweringServer", uses: ["Networking", "NetworkingTestServer"]),
    Module(
        "Benchmarks",
        uses: [
            "Networking", "NetworkingAsyncHTTPClient", "NetworkingInspector", "NetworkingSQLite", "NetworkingSigning",
            "NetworkingTelemetry", "NetworkingTestServer", "NetworkingValkey",
        ],
        products: http + ["Logging"],
        traits: ["AsyncHTTPClient": ["AsyncHTTPClient"] + nio]
    ),
    Module("CachingProxy", uses: ["Networking", "NetworkingAsyncHTTPClient", "NetworkingTestServer"], products: http),
    Module("Downloader", uses: ["Networking", "NetworkingAsyncHTTPClient"]),
    Module("FailingCalls", uses: ["Networking", "NetworkingInspector", "NetworkingSQLite", "NetworkingTesting"]),
    Module("Machine", uses: ["Networking", "NetworkingValkey"], products: http, traits: ["Valkey": ["Crypto"]]),
    Module("OfflineHelper", uses: ["Networking", "NetworkingSQLite"], products: http),
    Module("Scenarios", uses: ["Networking", "NetworkingTesting"], products: http),
    Module("SQLiteWriter", uses: ["Networking", "NetworkingSQLite"]),
    Module(
        "StoppedService",
        uses: ["Networking", "NetworkingAsyncHTTPClient"],
        products: ["Logging"],
        traits: ["ServiceLifecycle": ["ServiceLifecycle", "UnixSignals"]]
    ),
]

let testing = ["Networking", "NetworkingTesting", "TestSupport"]

let tests: [Module] = [
    Module(
        "IntegrationTests",
        uses: testing + [
            "AnsweringServer", "CachingProxy", cLibrary, "Downloader", "FailingCalls", foundation, "Machine",
            "NetworkingAsyncHTTPClient", "NetworkingInspector", "NetworkingOAuth", "NetworkingSigning",
            "NetworkingSQLite", "NetworkingTestServer", "NetworkingValkey", "OfflineHelper", "SQLiteWriter",
            "StoppedService",
        ],
        products: http,
        traits: [
            "AsyncHTTPClient": ["AsyncHTTPClient", "NIOEmbedded"] + nio,
            "Crypto": ["Crypto", "RawStructuredFieldValues"],
        ]
    ),
    Module(
        "LawsTests",
        uses: testing + ["NetworkingInspector", "NetworkingOAuth", "NetworkingSigning", "NetworkingTelemetry"],
        products: http + ["Logging"],
        traits: ["Crypto": ["Crypto"], "Telemetry": ["InMemoryTracing", "MetricsTestKit"]]
    ),
    Module("NetworkClientTests", uses: testing + ["NetworkClient", "NetworkClientLive"]),
    Module(
        "NetworkingTests",
        uses: testing + [foundation],
        products: http + ["Logging"],
        traits: ["Configuration": ["Configuration"], "Crypto": ["RawStructuredFieldValues"]]
    ),
    Module("NetworkingInspectorTests", uses: testing + ["NetworkingInspector"], products: http, traits: inspector),
    Module("NetworkingOAuthTests", uses: testing + ["NetworkingOAuth"], products: http + ["Logging"], traits: crypto),
    Module("NetworkingOpenAPITests", uses: testing + [foundation, "NetworkingOpenAPI"], products: http + ["Logging"]),
    Module(
        "NetworkingSigningTests",
        uses: testing + [foundation, "NetworkingSigning"],
        products: http,
        traits: ["Crypto": ["Crypto", "CryptoExtras"]]
    ),
    Module("NetworkingSQLiteTests", uses: testing + ["NetworkingSQLite"], products: http, traits: ["SQLite": ["GRDB"]]),
    Module(
        "NetworkingTelemetryTests",
        uses: testing + ["NetworkingTelemetry"],
        products: http,
        traits: ["Telemetry": ["InMemoryTracing", "Metrics", "MetricsTestKit", "Tracing"]]
    ),
    Module(
        "NetworkingTestingTests",
        uses: testing + [foundation, "NetworkClient", "NetworkingTestServer", "Scenarios"],
        products: http + ["Logging"]
    ),
    Module(
        "NetworkingTestServerTests",
        uses: [foundation, "NetworkingTestServer", "TestSupport"],
        products: http,
        traits: ["TestServer": ["FlyingSocks"]]
    ),
    Module(
        "NetworkingValkeyTests",
        uses: testing + ["NetworkingValkey"],
        traits: ["Valkey": ["Crypto", "NIOCore", "NIOPosix", "NIOSSL"]]
    ),
]

/// The modules that an app or its tests import: Networking, or some of those that it re-exports, and the others.
let products =
    ["Networking"] + reexported + extras.map(\.name).filter { !["NetworkingLoopback", "TestSupport"].contains($0) }

/// The files that become part of a module.
let resources: [String: [Resource]] = [
    "NetworkingInspector": ["css", "html", "js"].map { .embedInCode("Page/inspector.\($0)") },
    "NetworkingPrivacy": [.copy("PrivacyInfo.xcprivacy")],
]

/// The packages on GitHub, their minimum versions, and the products of each that the tables name.
let packages: [(repository: String, version: Version, products: [String])] = [
    ("apple/swift-configuration", "1.4.0", ["Configuration"]),
    ("apple/swift-crypto", "4.5.2", ["Crypto", "CryptoExtras"]),
    ("apple/swift-distributed-tracing", "1.7.3", ["InMemoryTracing", "Tracing"]),
    ("apple/swift-http-structured-headers", "1.7.0", ["RawStructuredFieldValues"]),
    ("apple/swift-http-types", "1.8.0", ["HTTPTypes"]),
    ("apple/swift-log", "1.16.0", ["Logging"]),
    ("apple/swift-metrics", "2.13.0", ["Metrics", "MetricsTestKit"]),
    ("apple/swift-nio", "2.100.0", ["NIOCore", "NIOEmbedded", "NIOHTTP1", "NIOPosix"]),
    ("apple/swift-nio-extras", "1.35.0", ["NIOHTTPCompression"]),
    ("apple/swift-nio-http2", "1.46.0", ["NIOHPACK", "NIOHTTP2"]),
    ("apple/swift-nio-ssl", "2.37.0", ["NIOSSL"]),
    ("groue/GRDB.swift", "7.10.0", ["GRDB", "GRDBSQLite"]),
    ("swift-server/async-http-client", "1.37.0", ["AsyncHTTPClient"]),
    ("swift-server/swift-service-lifecycle", "2.13.0", ["ServiceLifecycle", "UnixSignals"]),
    ("swhitty/FlyingFox", "0.27.0", ["FlyingFox", "FlyingSocks"]),
]

// MARK: Targets

let settings: [SwiftSetting] = [
    .enableUpcomingFeature("ExistentialAny"),  // SE-0335
    .enableUpcomingFeature("InternalImportsByDefault"),  // SE-0409
    .enableUpcomingFeature("MemberImportVisibility"),  // SE-0444
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),  // SE-0461
]

extension Module {
    var library: Target {
        let (folder, files) = (name == "TestSupport" ? "Tests/TestSupport" : nil, resources[name])
        return .target(name: name, dependencies: all, path: folder, resources: files, swiftSettings: settings)
    }

    var program: Target {
        let folder = name == "Benchmarks" ? "Tests/\(name)" : "Tests/Helpers/\(name)"
        return .executableTarget(name: name, dependencies: all, path: folder, swiftSettings: settings)
    }

    var tests: Target {
        .testTarget(name: name, dependencies: all, swiftSettings: settings)
    }

    private var all: [Target.Dependency] {
        let apple = TargetDependencyCondition.when(platforms: [.macOS, .macCatalyst, .iOS, .tvOS, .watchOS, .visionOS])
        var all: [Target.Dependency] = targets.map {
            $0 == "NetworkingPrivacy" ? .target(name: $0, condition: apple) : .byName(name: $0)
        }
        all += products.map { product($0) }
        // Sorted, because the order of a dictionary is another one in each process.
        for name in Set(traits.values.joined()).sorted() {
            // One of the traits is enough.
            let enabling = Set(traits.filter { $0.value.contains(name) }.keys)
            all.append(product(name, condition: .when(traits: enabling)))
        }
        return all
    }

    // With what Networking re-exports: a target is not compiled again when a module changes that it gets indirectly.
    private var targets: [String] {
        uses.contains("Networking") ? uses + reexported.filter { !uses.contains($0) } : uses
    }

    private func product(_ name: String, condition: TargetDependencyCondition? = nil) -> Target.Dependency {
        guard let package = packages.first(where: { $0.products.contains(name) })?.repository.split(separator: "/").last
        else { preconditionFailure("The table of packages has no product \(name).") }
        return .product(name: name, package: String(package), condition: condition)
    }
}

// MARK: The package

let package = Package(
    name: "swift-networking",
    platforms: [.macOS(.v15), .iOS(.v18), .tvOS(.v18), .watchOS(.v11), .visionOS(.v2)],
    products: products.map { .library(name: $0, targets: [$0]) },
    traits: [
        .trait(name: "URLSession", description: "The URLSession transport; on Linux it links FoundationNetworking."),
        .trait(name: "AsyncHTTPClient", description: "NetworkingAsyncHTTPClient: the transport for servers."),
        .trait(name: "Configuration", description: "Presets of standard with the numbers of swift-configuration."),
        .trait(name: "Crypto", description: "NetworkingOAuth, NetworkingSigning, and the checksums of downloads."),
        .trait(name: "Inspector", description: "NetworkingInspector's live page: a server on loopback."),
        .trait(name: "LoopbackRedirect", description: "OAuth redirects on loopback.", enabledTraits: ["Crypto"]),
        .trait(name: "SQLite", description: "NetworkingSQLite: SQLite files; on Linux it needs libsqlite3-dev."),
        .trait(name: "ServiceLifecycle", description: "StackShutdown as a service of swift-service-lifecycle."),
        .trait(name: "Telemetry", description: "NetworkingTelemetry: spans and metrics for any backend."),
        .trait(name: "SecureTestServer", description: "TestServer with TLS and HTTP/2.", enabledTraits: ["TestServer"]),
        .trait(name: "TestServer", description: "NetworkingTestServer: a real HTTP server on loopback, for tests."),
        .trait(name: "Valkey", description: "NetworkingValkey: state that machines share through Valkey or Redis."),
        .default(enabledTraits: ["URLSession"]),
    ],
    dependencies: packages.map { .package(url: "https://github.com/\($0.repository)", from: $0.version) },
    targets: (foundations + features + extras).map(\.library) + programs.map(\.program) + tests.map(\.tests),
    swiftLanguageModes: [.v6]
)
