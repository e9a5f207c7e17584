#if URLSession && AsyncHTTPClient && SQLite && Telemetry
import Foundation
import HTTPTypes
import Networking
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
    /// with the stack of an app, and with one of the parts; `urlsession.client` and the like use URLSession. The callers
    /// share these calls. The names of ``TypedCalls/DecoderPlace`` are typed calls over a mock, those of ``Decoding`` are
    /// typed calls of documents, and those of ``CachesBySize`` are calls of a cache.
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
        // heaptrack must not count the server.
        unsetenv("LD_PRELOAD")
        let words = name.split(separator: ".")
        let measured = MeasuredClient.Name.allCases.first { $0.countedName == words[0] }!
        try await ChildProcess.withServer { server in
            let client = MeasuredClient(measured, server)
            let path = { @Sendable (number: Int) in "items/\(number)" }
            let call: MeasuredClient.Call
            if let side = MeasuredClient.Side(rawValue: String(words[1])) {
                call = client.call(side, path)
            } else {
                let part = client.transport.parts(server).first { $0.name.prefix { $0 != " " } == words[1] }
                call = MeasuredClient.call(part!.network, path)
            }
            try await Load(callers: callers, total: count).run(call)
            try await client.end()
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
