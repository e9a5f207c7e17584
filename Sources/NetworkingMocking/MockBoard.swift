import NetworkingCore

/// The state of a ``MockTransport``: its stubs and expectations, and their use.
struct MockBoard: Sendable {
    /// A response to any request that matches.
    struct Stub: Sendable {
        let matcher: RequestMatcher
        let uses: MockUses
        let respond: MockTransport.Responder
    }

    /// A response to the next request, which must match.
    struct Expectation: Sendable {
        let matcher: RequestMatcher
        let respond: MockTransport.Responder
    }

    /// The source of a response.
    enum Source: Sendable, Equatable {
        /// No mock matched, with an explanation from that time: later requests and mocks could make another one wrong.
        case missing(String)
        case stub(Int)
        case other
    }

    private(set) var stubs: [Stub] = []
    /// The number of uses of each stub, separate because the stubs are copied and read outside of the lock.
    private(set) var uses: [Int] = []
    private(set) var expectations: [Expectation] = []
    /// The number of expectations that were met.
    private(set) var met = 0
    var directories: [MockDirectory] = []
    var latency: MockLatency?
    private(set) var requests: [HTTPRequestData] = []
    /// The source of the response to each request; nil while it is being determined.
    private(set) var sources: [Source?] = []
    /// The number of requests with a determined source.
    private(set) var settled = 0

    private(set) var active = 0
    private(set) var ended = 0
    private(set) var cancelled = 0
    var delivered = 0

    init(script: [MockResponse]) {
        enqueue(script)
    }

    var nextExpectation: Expectation? {
        met < expectations.count ? expectations[met] : nil
    }

    // MARK: Responses

    mutating func add(_ stub: Stub) {
        stubs.append(stub)
        uses.append(0)
    }

    mutating func add(_ expectation: Expectation) {
        expectations.append(expectation)
    }

    mutating func enqueue(_ responses: [MockResponse]) {
        expectations += responses.map { response in Expectation(matcher: .any) { _ in response } }
    }

    /// Uses a stub for a request; false if the stub has reached its maximum number of uses.
    mutating func use(_ stub: Int, for arrival: Int) -> Bool {
        guard uses[stub] < stubs[stub].uses.maximum ?? .max else { return false }
        uses[stub] += 1
        note(.stub(stub), for: arrival)
        return true
    }

    /// Uses an expectation for a request; false if another request was faster.
    mutating func meet(_ expectation: Int, for arrival: Int) -> Bool {
        guard met == expectation else { return false }
        met += 1
        note(.other, for: arrival)
        return true
    }

    /// Records that a request does not match an expectation and gets no response; false if another request has met the
    /// expectation in the meantime.
    mutating func miss(_ expectation: Int, because reason: String, for arrival: Int) -> Bool {
        guard met == expectation else { return false }
        note(.missing(reason), for: arrival)
        return true
    }

    mutating func note(_ source: Source, for arrival: Int) {
        if sources[arrival] == nil { settled += 1 }
        sources[arrival] = source
    }

    // MARK: Exchanges

    /// Records the arrival of a request and returns its number.
    mutating func begin(_ request: HTTPRequestData) -> Int {
        requests.append(request)
        sources.append(nil)
        active += 1
        return requests.count - 1
    }

    mutating func end(_ arrival: Int, wasCancelled: Bool) {
        // If the search for a response failed, the request still counts as settled.
        if sources[arrival] == nil { note(.other, for: arrival) }
        active -= 1
        ended += 1
        if wasCancelled { cancelled += 1 }
    }
}
