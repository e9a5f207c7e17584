#if Telemetry
import Foundation
import HTTPTypes
import Logging
import MetricsTestKit
import NetworkingTelemetry
import NetworkingTesting
import Synchronization
import TestSupport
import Testing
import Tracing

import Networking

/// Sends secrets in every part of a request and response through a whole stack, with all logging and recording enabled.
@Suite(.tags(.concurrency), .timeLimit(.minutes(20)))
struct SecretsTests {
    private let tracer = W3CTracer()
    private let metrics = TestMetrics()
    private let instrument = SessionInstrument()
    private let texts = Journal()
    private let clock = ManualClock()

    /// None of these values occurs in another text of the test.
    private enum Secret {
        static let all = [
            "hdr-5e1f", "qry-77aa", "usr-90c2", "pwd-3b6d", "jsn-c4d8", "frm-12e9", "cki-ab34", "set-88f0", "loc-6d21",
            "acc-41fe", "ref-b7c3", "mrk-0f9a", "idx-d2e5", "rsp-19bc", "ech-e07d",
        ]
    }

    private var logger: Logger {
        Logger(label: "secrets") { [texts] _ in TextLogHandler(texts: texts) }
    }

    /// Refreshes the credentials with another secret token.
    private struct Tokens: AuthenticationDelegate {
        func refresh(
            _ credentials: BearerCredentials,
            after response: HTTPResponseData?,
            over network: any NetworkingComponent
        ) async throws -> BearerCredentials {
            BearerCredentials(token: "ref-b7c3")
        }
    }

    private func stack(over transport: some NetworkingComponent) -> some NetworkingComponent {
        transport
            .timeout(.seconds(10))
            .authenticated(with: TokenStore(BearerCredentials(token: "acc-41fe"), delegate: Tokens()))
            .throttled(max: 6)
            .redirected()
            .logged(using: logger, detail: .body(limit: 10_000))
            .retry(.immediate())
            .deduplicated()
            .cached()
            .checkedStatusCode()
            .deadline(.seconds(30))
            .logged(using: logger, detail: .body(limit: 10_000, prettyPrinted: true))
            .observed(by: Printer(texts: texts))
            .instrument(instrument) { [texts] call in texts.note(everyPrint(of: call) + call.waterfall()) }
            .traced()
            .telemetry(tracer: tracer, metrics: metrics, options: options)
            .server(headerField: .init("X-Api-Key")!, "hdr-5e1f")
            .server(authority: "api.example.com")
            .environment(\.clock, .manual(clock))
    }

    private var options: TelemetryOptions {
        var options = TelemetryOptions()
        // The options name these fields although they are secret.
        options.requestHeaderFields = [.authorization, .cookie, .init("X-Api-Key")!, .init("X-Odd")!, .init("X-Ref")!]
        options.recordsUserAgent = true
        options.responseHeaderFields = [.setCookie, .location, .contentType]
        options.recordsBodySizes = true
        return options
    }

    /// The whole output of the stack.
    private var output: String {
        var output = texts.entries
        output += tracer.spans.map(\.everything)
        for recorder in metrics.recorders { output.append("\(recorder.label) \(recorder.dimensions)") }
        for counter in metrics.counters { output.append("\(counter.label) \(counter.dimensions)") }
        for timer in metrics.timers { output.append("\(timer.label) \(timer.dimensions)") }
        for meter in metrics.meters { output.append("\(meter.label) \(meter.dimensions)") }
        output.append(everyPrint(of: instrument.statistics) + instrument.waterfall())
        return output.joined(separator: "\n")
    }

    private func request(_ method: HTTPRequest.Method, _ path: String, body: RequestBody? = nil) -> HTTPRequestData {
        var request = HTTPRequestData(method: method, path: path, body: body)
        request.headerFields[.cookie] = "session=cki-ab34"
        var odd = HTTPField(name: .init("X-Odd")!, value: "idx-d2e5")
        odd.indexingStrategy = .disallow
        request.headerFields.append(odd)
        request.query.access_token = "qry-77aa"
        request.markSecret("mrk-0f9a")
        request.headerFields[.init("X-Ref")!] = "about mrk-0f9a"
        request.headerFields[.userAgent] = "Shop mrk-0f9a"
        return request
    }

    private func send(_ request: HTTPRequestData, over network: some NetworkingComponent) async {
        texts.note(everyPrint(of: request) + request.curl() + network.resolved(request).curl())
        do {
            let response = try await network.data(request)
            texts.note(everyPrint(of: response) + everyPrint(of: response.sentRequest) + response.sentRequest.curl())
            texts.note(everyPrint(of: response.redirects))
        } catch {
            texts.note(everyPrint(of: error))
            if let error = error as? NetworkingError {
                texts.note("\(error.reason) \(error.localizedDescription) \(error.request.curl())")
            }
        }
    }

    @Test func leaksNoSecret() async throws {
        let transport = MockTransport { request -> MockResponse in
            let json = Data(#"{"token":"rsp-19bc","name":"Emily","echo":"mrk-0f9a"}"#.utf8)
            switch request.path {
            case "/refused" where request.headerFields[.authorization] == "Bearer acc-41fe":
                return .status(.unauthorized, headerFields: [.wwwAuthenticate: "Bearer"])
            case "/elsewhere":
                return .redirect(to: "https://api.example.com/landed?code=loc-6d21")
            case "/broken":
                let underlying = URLError(
                    .networkConnectionLost,
                    userInfo: [NSURLErrorFailingURLErrorKey: request.url!]
                )
                return .failure(NetworkingError(.connectionLost, request: request, underlying: underlying))
            case "/missing":
                return .status(.notFound, headerFields: [.setCookie: "id=set-88f0"])
            default:
                return .ok(
                    json,
                    headerFields: [
                        .contentType: "application/json", .setCookie: "id=set-88f0", .cacheControl: "max-age=60",
                    ]
                )
            }
        }
        let network = stack(over: transport)
        await send(request(.get, "users"), over: network)
        await send(request(.get, "users"), over: network)
        await send(request(.get, "reset/mrk-0f9a"), over: network)
        await send(request(.get, "refused"), over: network)
        await send(request(.get, "elsewhere"), over: network)
        await send(request(.get, "broken"), over: network)
        await send(request(.get, "missing"), over: network)
        let login = ["user": "emily", "password": "jsn-c4d8", "note": "mrk-0f9a"]
        await send(request(.post, "login", body: .json(login)), over: network)
        await send(request(.post, "login", body: .form(["password": "frm-12e9", "a": "mrk-0f9a"])), over: network)
        var inURL = request(.get, "users")
        inURL.url = URL(string: "https://usr-90c2:pwd-3b6d@api.example.com/users?sig=qry-77aa")
        await send(inURL, over: network)

        // Every kind of request was sent.
        let paths = Set(transport.requests.compactMap(\.path))
        #expect(paths.isSuperset(of: ["/users", "/refused", "/elsewhere", "/landed", "/broken", "/missing", "/login"]))
        #expect(transport.requests.contains { $0.headerFields[.authorization] == "Bearer ref-b7c3" })
        #expect(transport.requests.allSatisfy { $0.headerFields[.init("X-Api-Key")!] == "hdr-5e1f" })
        let output = output
        #expect(output.contains("Emily") && output.contains("api.example.com"))
        #expect(!tracer.spans.isEmpty && !metrics.recorders.isEmpty)
        for secret in Secret.all {
            let place = output.range(of: secret)
                .map { range in
                    let start = output.index(range.lowerBound, offsetBy: -160, limitedBy: output.startIndex)
                    return String(output[(start ?? output.startIndex)..<range.upperBound])
                }
            #expect(place == nil, "\(secret) shows")
        }
    }
}

/// Prints every event and its request.
private struct Printer: NetworkEventObserver {
    let texts: Journal

    func observe(_ event: any NetworkEvent, of request: HTTPRequestData) {
        texts.note(everyPrint(of: event) + everyPrint(of: request))
    }
}

private struct TextLogHandler: LogHandler {
    let texts: Journal
    var logLevel = Logger.Level.trace
    var metadata: Logger.Metadata = [:]

    init(texts: Journal) {
        self.texts = texts
    }

    func log(event: LogEvent) {
        texts.note("\(event.message) \(event.metadata ?? [:])")
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }
}

#endif
