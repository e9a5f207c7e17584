#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import AsyncHTTPClient
import Foundation
import HTTPTypes
import NIOCore
import Networking
import NetworkingAsyncHTTPClient
import NetworkingInspector
import NetworkingSigning
import NetworkingTelemetry

/// The measured stacks over a transport that responds at once, by name.
///
/// The difference in instructions between two numbers of calls is the cost of the calls alone:
/// `valgrind --tool=callgrind Benchmarks count app 2000`.
enum CountedStacks {
    static let all: [(name: String, network: any NetworkingComponent, request: HTTPRequestData)] = {
        let absolute = RecordedStacks.absolute
        var unlogged = absolute
        unlogged.logDetail = .off
        return RecordedStacks.all + [
            ("app.limiting", LimitingTransport().appStack(RecordedStacks.server), RecordedStacks.relative),
            ("limiting", LimitingTransport().modified(PassThrough()), absolute),
            ("environment", InstantTransport().environment(\.tenant, 1), absolute),
            ("suspending", SuspendingTransport().modified(PassThrough()), absolute),
            ("timeout", SuspendingTransport().timeout(.seconds(10)), absolute),
            ("layers0", Calibration.layers(0), absolute),
            ("layers8", Calibration.layers(8), absolute),
            ("circuitBreaker", InstantTransport().circuitBreaker(), absolute),
            ("adaptiveThrottle", InstantTransport().adaptiveThrottle(), absolute),
            ("standard.app", InstantTransport().standard(.app), absolute),
            ("adaptiveLimit", InstantTransport().adaptiveLimit(), absolute),
            ("hedged", InstantTransport().hedged(), absolute),
            ("hedged.armed", LimitingTransport().hedged(.after(.seconds(60))), absolute),
            ("hedged.retry", InstantTransport().hedged().retry(), absolute),
            ("rateLimited", InstantTransport().rateLimited(to: 1_000_000_000, per: .seconds(1)), absolute),
            (
                "rateLimited.server",
                InstantTransport(headerFields: serverLimits).rateLimited(by: ServerRateLimiter()),
                absolute
            ),
            ("rateLimited.silent", InstantTransport().rateLimited(by: ServerRateLimiter()), absolute),
            ("rateLimited.adaptive", InstantTransport().rateLimited(by: AdaptiveRateLimiter()), absolute),
            (
                "endpoints",
                InstantTransport()
                    .server(
                        endpoints: ServerEndpoints(
                            "api.example.com",
                            endpoints: ["a.example.com", "b.example.com", "c.example.com"]
                        )
                    ),
                absolute
            ),
            ("cached", InstantTransport().cached(), absolute),
            ("instrument", InstantTransport().modified(PassThrough()).instrument(), absolute),
            ("instrument.eleven", InstantTransport().eleven().instrument(), absolute),
            ("traced", InstantTransport().modified(PassThrough()).traced(), absolute),
            ("traced.eleven", InstantTransport().eleven().traced(), absolute),
            ("inspected", InstantTransport().modified(PassThrough()).inspected(), absolute),
            ("inspected.eleven", InstantTransport().eleven().inspected(), absolute),
            ("signed", InstantTransport().signed(with: FieldSigner(), at: ["api.example.com"]), absolute),
            ("fallbackToPost", InstantTransport().fallbackToPost(), absolute),
            ("deprecationsReported", InstantTransport().deprecationsReported(), absolute),
            ("compressedBodies", InstantTransport().compressedBodies(), absolute),
            ("telemetry", InstantTransport().modified(PassThrough()).telemetry(), absolute),
            ("telemetry.eleven", InstantTransport().eleven().telemetry(), absolute),
            ("logged.silent", InstantTransport().logged(using: .silent), absolute),
            ("logged.off", InstantTransport().logged(using: .silent), unlogged),
        ]
    }()

    private static let serverLimits: HTTPFields = [
        HTTPField.Name("RateLimit-Policy")!: "\"default\";q=100000;w=60",
        HTTPField.Name("RateLimit")!: "\"default\";r=90000;t=30",
    ]

    /// Makes a number of calls through a stack, one after the other.
    ///
    /// The names in addition to those of ``all`` are `http.client`, `http.transport`, `http.app` and those of parts,
    /// such as `http.traced`. They use a server in another process, with AsyncHTTPClient alone, with the transport,
    /// with the stack of an app, and with one of the parts. `http.client.typed` and `http.typed` decode JSON, and
    /// `http.untyped` receives it. The callers share these calls. The names of
    /// ``TypedCalls/DecoderPlace`` are typed calls over a mock, those of ``Decoding`` are typed calls of documents, and
    /// those of ``CachesBySize`` are calls of a cache.
    static func call(_ name: String, times count: Int, callers: Int) async throws {
        if try await RecordedStacks.call(name, times: count) { return }
        if try await Decoding.run(name, times: count) { return }
        if try await CachesBySize.run(name, times: count) { return }
        guard let stack = all.first(where: { $0.name == name }) else {
            return try await Task.detached { try await send(name, times: count, callers: callers) }.value
        }
        for _ in 0..<count {
            _ = try await stack.network.send(stack.request)
        }
    }

    private static func send(_ name: String, times count: Int, callers: Int) async throws {
        try await ChildProcess.withServer { server in
            let raw = HTTPClient()
            let transport = AsyncHTTPClientTransport()
            let base = server.absoluteString
            let part = transport.parts(server).first { name == "http.\($0.name.prefix { $0 != " " })" }
            let network: any NetworkingComponent =
                ["http.app", "http.typed", "http.untyped"].contains(name)
                ? transport.appStack(server) : part?.network ?? transport.server(baseURL: server)
            let load = Load(callers: callers, total: count)
            @Sendable func collect(_ path: String) async throws -> ByteBuffer {
                let request = HTTPClientRequest(url: base + path)
                return try await raw.execute(request, timeout: .seconds(10)).body.collect(upTo: 64 << 20)
            }
            switch name {
            case "http.client":
                try await load.run { number in _ = try await collect("/items/\(number)") }
            case "http.client.typed":
                try await load.run { number in
                    let data = Data(try await collect("/json/\(number)").readableBytesView)
                    _ = try JSONDecoder().decode([User].self, from: data)
                }
            case "http.typed":
                try await load.run { number in
                    _ = try await network.value(Request<[User]>(HTTPRequestData(path: "json/\(number)")))
                }
            case "http.untyped":
                try await load.run { number in try await network.data(HTTPRequestData(path: "json/\(number)")) }
            default:
                try await load.run { number in try await network.data(HTTPRequestData(path: "items/\(number)")) }
            }
            try await transport.shutdown()
            try await raw.shutdown()
        }
    }
}

/// A signer without cryptography, to measure `signed` itself.
private struct FieldSigner: RequestSigner {
    let keyID = "key"

    func sign(_ request: inout HTTPRequestData) async throws {
        request.headerFields[.authorization] = "Signature key"
    }
}

extension NetworkingComponent {
    fileprivate func inspected() -> some NetworkingComponent {
        inspected(by: NetworkInspector(keeping: 100))
    }
}
#endif
