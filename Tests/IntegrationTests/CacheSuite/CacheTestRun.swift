import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// The reason for which a test fails.
enum CacheTestFailure: Error {
    case setup(String)
    case test(String)
}

/// Runs a test with a client that has its own cache, and a scripted origin, on a clock that advances only in pauses.
final class CacheTestRun: Sendable {
    /// A response of the origin.
    struct Reply: Sendable {
        var status: Int
        var fields: HTTPFields
        var body: Data
        /// The length that the body would have if the request were a GET.
        var headLength: Int?
        /// The interim heads that precede the response.
        var interim: [(status: Int, fields: HTTPFields)] = []
    }

    private struct Seen {
        var number: Int
        var method: String
        var fields: HTTPFields
    }

    private struct State {
        var seen: [Seen] = []
        /// The fields of the origin's last response.
        var lastSent: HTTPFields = [:]
        var serverNow: [Int: Date] = [:]
    }

    private let test: CacheTest
    private let scheme: String
    private let authority: String
    private let clock = ManualClock()
    private let state = Mutex(State())
    /// The text in the URL and the bodies.
    ///
    /// Some tests expect a body of this length.
    let token = UUID().uuidString
    private let cache: ResponseCache
    private let events = EventRecorder()
    private let reportsInterim: Bool

    /// - Parameters:
    ///   - test: The test.
    ///   - scheme: The scheme of the origin.
    ///   - authority: Host and port of the origin.
    ///   - store: The store of the cache.
    ///   - isShared: Whether the cache serves many users.
    ///   - reportsInterim: `false` if the transport drops interim responses, which are not checked then.
    init(
        _ test: CacheTest,
        scheme: String = "https",
        authority: String = "origin.example",
        store: any CacheStore = MemoryCacheStore(),
        isShared: Bool = false,
        reportsInterim: Bool = true
    ) {
        self.test = test
        cache = ResponseCache(in: store, isShared: isShared)
        self.scheme = scheme
        self.authority = authority
        self.reportsInterim = reportsInterim
    }

    /// Sends the requests of the test.
    ///
    /// The transport or a server passes them to ``reply(to:_:)``.
    func play(over transport: some NetworkingComponent) async throws {
        let network = AnyNetworkingComponent(
            transport.cached(in: cache).observed(by: events).environment(\.clock, .manual(clock))
        )
        for (index, step) in test.requests.enumerated() {
            try await play(step, index + 1, network)
            if step.pauseAfter == true {
                clock.advance(by: .seconds(3))
            }
        }
        try checkOrigin()
    }

    // MARK: The client

    private func play(_ step: CacheTest.Step, _ number: Int, _ network: some NetworkingComponent) async throws {
        var path = "/test/\(token)"
        if let filename = step.filename { path += "/\(filename)" }
        if let argument = step.queryArg { path += "?\(argument)" }
        var request = HTTPRequestData(
            method: HTTPRequest.Method(step.requestMethod ?? "GET") ?? .get,
            scheme: scheme,
            authority: authority,
            path: path
        )
        for field in step.requestHeaders ?? [] {
            guard let name = HTTPField.Name(field[0].text) else { continue }
            var value = field[1].text
            if step.magicIms == true, case .number(let seconds) = field[1] {
                let base = state.withLock { $0.serverNow[number - 1] } ?? clock.date
                value = base.addingTimeInterval(seconds).httpDate
            }
            request.headerFields.append(name: name, value: value.trimmingCharacters(in: .whitespaces))
        }
        request.headerFields[HTTPField.Name("Req-Num")!] = "\(number)"
        if let body = step.requestBody { request.body = .data(Data(body.utf8)) }
        switch step.cache {
        case "no-cache": request.headerFields[.cacheControl] = "max-age=0"
        case "no-store": request.cacheMode = .noStore
        case "reload": request.cacheMode = .reload
        case "force-cache": request.cacheMode = .forceCache
        case "only-if-cached": request.cacheMode = .onlyIfCached
        default: break
        }
        request.redirects = .never
        let before = events.events.count
        do {
            let response = try await network.data(request)
            let interim = events.events.dropFirst(before).compactMap { ($0 as? ExchangeEvent)?.interimHead }
            // A revalidation in the background completes before the next step.
            try await eventually("no revalidation is in progress") { !cache.isRevalidating }
            try check(response, step, number)
            if reportsInterim { try check(interim, step, number) }
        } catch let error as CacheTestFailure {
            throw error
        } catch  where step.disconnect == true && step.expectedType != "cached" {
            // An expected error has no response to check.
        } catch {
            throw step.setup == true ? CacheTestFailure.setup("\(error)") : .test("\(error)")
        }
    }

    private func check(_ response: HTTPResponseData, _ step: CacheTest.Step, _ number: Int) throws {
        func expect(_ member: String, _ holds: Bool, _ reason: String) throws {
            guard !holds else { return }
            let isSetup = step.setup == true || step.setupTests?.contains(member) == true
            throw isSetup ? CacheTestFailure.setup("\(number): \(reason)") : .test("\(number): \(reason)")
        }
        func field(_ name: String) -> String? {
            HTTPField.Name(name).flatMap { response.headerFields[$0] }
        }
        func has(_ name: String, _ value: String) -> Bool {
            field(name)?.contains(value) == true
        }
        let count = field("Server-Request-Count").flatMap { Int($0) }
        switch step.expectedType {
        case "cached":
            if !(response.status.code == 304 && count == nil) {
                try expect("expected_type", (count ?? .max) < number, "does not come from the cache")
            }
        case "not_cached": try expect("expected_type", count == number, "comes from the cache")
        default: break
        }
        let status = step.expectedStatus ?? step.responseStatus.map { Int($0[0].text) ?? 200 }
        if step.expectedStatus == -1 {
            // Any status is allowed.
        } else if let status {
            try expect(
                "expected_status",
                response.status.code == status,
                "status \(response.status.code), not \(status)"
            )
        } else {
            try expect("expected_type", response.status.code != 999, "was not asked conditionally")
            try expect("expected_status", response.status.code == 200, "status \(response.status.code)")
        }
        for expected in step.expectedResponseHeaders ?? [] {
            let name = expected.values[0].text
            let actual = field(name)
            switch expected.values.count {
            case 1: try expect("expected_response_headers", actual != nil, "\(name) is missing")
            case 2:
                var value = expected.values[1].text
                if case .number(let seconds) = expected.values[1], ["date", "expires"].contains(name.lowercased()) {
                    let sent = state.withLock { $0.serverNow[count ?? number] } ?? clock.date
                    value = sent.addingTimeInterval(seconds).httpDate
                }
                try expect("expected_response_headers", actual == value, "\(name) is \(actual ?? "missing")")
            default:
                let other = expected.values[2]
                let holds =
                    switch expected.values[1].text {
                    case "=": actual == field(other.text)
                    default: (actual.flatMap { Double($0) } ?? -1) > (Double(other.text) ?? 0)
                    }
                try expect("expected_response_headers", holds, "\(name) is \(actual ?? "missing")")
            }
        }
        for missing in step.expectedResponseHeadersMissing ?? [] {
            let name = missing.values[0].text
            // A pair names a value that the field must not contain; the field may be there with another value.
            let isMissing = missing.values.count == 1 ? field(name) == nil : !has(name, missing.values[1].text)
            try expect("expected_response_headers_missing", isMissing, "\(name) is \(field(name) ?? "")")
        }
        guard step.checkBody != false else { return }
        let body = String(decoding: response.data, as: UTF8.self)
        if let text = step.expectedResponseText {
            try expect("expected_response_text", body == text, "body \(body)")
        } else if let text = step.responseBody {
            try expect("check_body", body == text, "body \(body)")
        } else if ![204, 304].contains(response.status.code), step.requestMethod != "HEAD" {
            try expect("check_body", body == token, "body \(body)")
        }
    }

    /// Compares the interim responses of a call with the expected ones of the step.
    private func check(_ received: [HTTPResponse], _ step: CacheTest.Step, _ number: Int) throws {
        guard let expected = step.expectedInterimResponses else { return }
        let isSetup = step.setup == true || step.setupTests?.contains("expected_interim_responses") == true
        func expect(_ holds: Bool, _ reason: String) throws {
            guard !holds else { return }
            throw isSetup ? CacheTestFailure.setup("\(number): \(reason)") : .test("\(number): \(reason)")
        }
        let codes = received.map { "\($0.status.code)" }
        try expect(codes == expected.map { $0[0].text }, "interim responses are \(codes)")
        for (head, values) in zip(received, expected) {
            guard values.count > 1, case .fields(let fields) = values[1] else { continue }
            for field in fields {
                let value = HTTPField.Name(field[0].text).flatMap { head.headerFields[$0] }
                try expect(value == field[1].text, "\(field[0].text) of \(head.status.code) is \(value ?? "missing")")
            }
        }
    }

    private func checkOrigin() throws {
        let seen = state.withLock { $0.seen }
        for (index, step) in test.requests.enumerated() {
            let number = index + 1
            func expect(_ member: String, _ holds: Bool, _ reason: String) throws {
                guard !holds else { return }
                let isSetup = step.setup == true || step.setupTests?.contains(member) == true
                throw isSetup ? CacheTestFailure.setup("\(number): \(reason)") : .test("\(number): \(reason)")
            }
            let request = seen.first { $0.number == number }
            switch step.expectedType {
            case "not_cached": try expect("expected_type", request != nil, "did not reach the origin")
            case "etag_validated":
                try expect("expected_type", request?.fields[.ifNoneMatch] != nil, "was not asked with If-None-Match")
            case "lm_validated":
                try expect(
                    "expected_type",
                    request?.fields[.ifModifiedSince] != nil,
                    "was not asked with If-Modified-Since"
                )
            default: break
            }
            for expected in step.expectedRequestHeaders ?? [] {
                let name = HTTPField.Name(expected.values[0].text)!
                let actual = request?.fields[name]
                if expected.values.count == 1 {
                    try expect("expected_request_headers", actual != nil, "\(name) was not sent")
                } else {
                    try expect(
                        "expected_request_headers",
                        actual == expected.values[1].text,
                        "\(name): \(actual ?? "-")"
                    )
                }
            }
            if let method = step.expectedMethod {
                try expect("expected_method", request?.method == method, "method \(request?.method ?? "-")")
            }
        }
    }

    // MARK: The origin

    /// Returns the response of the origin, or `nil` if the origin closes the connection instead.
    func reply(to method: HTTPRequest.Method, _ requestFields: HTTPFields) -> Reply? {
        let number = requestFields[HTTPField.Name("Req-Num")!].flatMap { Int($0) } ?? 0
        guard test.requests.indices.contains(number - 1) else {
            return Reply(status: 404, fields: [:], body: Data())
        }
        let step = test.requests[number - 1]
        let now = clock.date
        let (count, lastSent) = state.withLock { state in
            state.seen.append(Seen(number: number, method: method.rawValue, fields: requestFields))
            state.serverNow[number] = now
            return (state.seen.count, state.lastSent)
        }
        if step.disconnect == true { return nil }
        if let pause = step.responsePause {
            clock.advance(by: .seconds(pause))
        }
        var fields = self.fields(step.responseHeaders ?? [], step, now)
        fields[HTTPField.Name("Server-Base-Url")!] = "/test/\(token)"
        fields[HTTPField.Name("Server-Request-Count")!] = "\(count)"
        fields[HTTPField.Name("Client-Request-Count")!] = "\(number)"
        fields[HTTPField.Name("Server-Now")!] = "\(now.timeIntervalSince1970 * 1_000)"
        if !fields.contains(.contentType) { fields[.contentType] = "text/plain" }
        // As Node does.
        if !fields.contains(.date) { fields[.date] = now.httpDate }
        var status = step.responseStatus.flatMap { Int($0[0].text) } ?? 200
        if step.expectedType?.hasSuffix("validated") == true {
            let tag = lastSent[.eTag]
            let isTagged = tag != nil && requestFields[.ifNoneMatch]?.contains(tag ?? "") == true
            let modified = lastSent[.lastModified]
            let isDated = modified != nil && requestFields[.ifModifiedSince] == modified
            status = isTagged || isDated ? 304 : 999
        }
        state.withLock { $0.lastSent = fields }
        let text = step.responseBody ?? token
        let body = status == 304 || status == 204 || method == .head ? "" : text
        var reply = Reply(status: status, fields: fields, body: Data(body.utf8))
        reply.headLength = method == .head ? text.utf8.count : nil
        for interim in step.interimResponses ?? [] {
            guard let status = interim.first.flatMap({ Int($0.text) }) else { continue }
            var fields: [[CacheTest.Value]] = []
            if interim.count > 1, case .fields(let more) = interim[1] { fields = more }
            reply.interim.append((status, self.fields(fields, step, now)))
        }
        return reply
    }

    private func fields(_ list: [[CacheTest.Value]], _ step: CacheTest.Step, _ now: Date) -> HTTPFields {
        var fields: HTTPFields = [:]
        for field in list {
            guard let name = HTTPField.Name(field[0].text) else { continue }
            var value = field[1].text
            let isDate = ["date", "expires", "last-modified", "if-modified-since", "if-unmodified-since"]
            if case .number(let seconds) = field[1], isDate.contains(name.canonicalName) {
                value = now.addingTimeInterval(seconds).httpDate
                if step.rfc850date?.contains(name.canonicalName) == true {
                    value = Self.rfc850(now.addingTimeInterval(seconds))
                }
            }
            if step.magicLocations == true, ["location", "content-location"].contains(name.canonicalName) {
                value = value.isEmpty ? "/test/\(token)" : "/test/\(token)/\(value)"
            }
            fields.append(HTTPField(name: name, value: value))
        }
        return fields
    }

    private static func rfc850(_ date: Date) -> String {
        let parts = date.httpDate.split { $0 == " " || $0 == "," }
        let days = [
            "Mon": "Monday", "Tue": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Fri": "Friday",
            "Sat": "Saturday",
        ]
        return "\(days[String(parts[0])] ?? "Sunday"), \(parts[1])-\(parts[2])-\(parts[3].suffix(2)) \(parts[4]) GMT"
    }
}

extension ExchangeEvent {
    fileprivate var interimHead: HTTPResponse? {
        guard case .headReceived(let head) = self, head.status.kind == .informational else { return nil }
        return head
    }
}
