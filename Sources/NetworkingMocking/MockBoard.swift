import NetworkingCore

/// What a ``MockTransport`` knows: its answers, and what has become of them.
struct MockBoard: Sendable {
    /// An answer for whatever matches.
    struct Stub: Sendable {
        let matcher: RequestMatcher
        let uses: MockUses
        let answer: MockTransport.Answer
    }

    /// An answer for the next request, which has to match.
    struct Expectation: Sendable {
        let matcher: RequestMatcher
        let answer: MockTransport.Answer
    }

    /// Who answered a request.
    enum Answerer: Sendable, Equatable {
        case nobody
        case stub(Int)
        case somethingElse
    }

    private(set) var stubs: [Stub] = []
    /// How often each stub has answered; apart from the stubs, of which copies are looked at outside of the lock.
    private(set) var uses: [Int] = []
    private(set) var expectations: [Expectation] = []
    /// How many of the expectations have been met.
    private(set) var met = 0
    var directories: [MockDirectory] = []
    var latency: MockLatency?
    private(set) var requests: [HTTPRequestData] = []
    /// Who answered each request; nil while that is being found out.
    private(set) var answerers: [Answerer?] = []
    /// Of how many requests that has been found out.
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

    // MARK: Answers

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

    /// Has a stub answer a request; false when it has answered as often as it may.
    mutating func use(_ stub: Int, for arrival: Int) -> Bool {
        guard uses[stub] < stubs[stub].uses.most ?? .max else { return false }
        uses[stub] += 1
        note(.stub(stub), for: arrival)
        return true
    }

    /// Has an expectation answer a request; false when another request was faster.
    mutating func meet(_ expectation: Int, for arrival: Int) -> Bool {
        guard met == expectation else { return false }
        met += 1
        note(.somethingElse, for: arrival)
        return true
    }

    /// Has nobody answer a request, since it is not what an expectation asks for; false when another request has met
    /// that meanwhile.
    mutating func miss(_ expectation: Int, for arrival: Int) -> Bool {
        guard met == expectation else { return false }
        note(.nobody, for: arrival)
        return true
    }

    mutating func note(_ answerer: Answerer, for arrival: Int) {
        if answerers[arrival] == nil { settled += 1 }
        answerers[arrival] = answerer
    }

    // MARK: Exchanges

    /// Notes that a request has arrived, and answers its number.
    mutating func begin(_ request: HTTPRequestData) -> Int {
        requests.append(request)
        answerers.append(nil)
        active += 1
        return requests.count - 1
    }

    mutating func end(_ arrival: Int, wasCancelled: Bool) {
        // Should the search for an answer ever fail, nobody waits for its result any more.
        if answerers[arrival] == nil { note(.somethingElse, for: arrival) }
        active -= 1
        ended += 1
        if wasCancelled { cancelled += 1 }
    }
}
