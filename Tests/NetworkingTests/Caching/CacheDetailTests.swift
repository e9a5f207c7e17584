import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Synchronization
import TestSupport
import Testing

@testable import NetworkingCaching

/// Details of ages, conditions and removals, and hostile header fields.
@Suite(.stoppedClock, .timeLimit(.minutes(20)))
struct CacheDetailTests {
    private let clock = ManualClock()
    private let store = MemoryCacheStore()
    private let date = Date(timeIntervalSince1970: 1_000_000)

    private func entry(
        _ fields: HTTPFields,
        delay: TimeInterval = 0,
        body: String = "0123456789"
    ) -> CachedEntry {
        CachedEntry(
            response: HTTPResponse(status: .ok, headerFields: fields),
            body: Data(body.utf8),
            requestDate: date,
            responseDate: date.addingTimeInterval(delay)
        )
    }

    private func freshened(_ entry: CachedEntry, by fields: HTTPFields) -> CachedEntry {
        let head = HTTPResponse(status: .notModified, headerFields: fields)
        return entry.freshened(by: head, CacheRules(), for: nil, .none, sent: date, received: date)
    }

    // MARK: Ages

    @Test func delayOfTheResponseIsPartOfItsAge() {
        #expect(entry([.age: "5"], delay: 10).facts.initialAge == 15)
    }

    @Test(arguments: [(10.0, true), (10.5, false)])
    func staleIfErrorIncludesTheEndOfItsWindow(staleness: TimeInterval, isUsed: Bool) {
        let entry = entry([.cacheControl: "max-age=60, stale-if-error=10", .date: date.httpDate])
        let now = date.addingTimeInterval(60 + staleness)
        #expect(CacheRules().mayStandIn(entry, for: .lawful, unreachable: false, at: now) == isUsed)
    }

    @Test(arguments: [nil, "7"] as [String?]) func validationReplacesTheAge(age: String?) {
        var fields: HTTPFields = [.eTag: "\"a\""]
        fields[.age] = age
        let entry = freshened(entry([.age: "100", .eTag: "\"a\""]), by: fields)
        #expect(entry.response.headerFields[.age] == age)
    }

    // MARK: Conditions

    @Test(arguments: [("\"a\"", "\"a\"", 206), ("W/\"a\"", "\"a\"", 200), ("W/\"a\"", "W/\"a\"", 200)])
    func ifRangeIsComparedStrongly(stored: String, condition: String, status: Int) async throws {
        let transport = MockTransport { _ in
            .ok(Data("0123456789".utf8), headerFields: [.cacheControl: "max-age=100", .eTag: stored])
        }
        let network = transport.cached(in: store)
        try await network.data(.lawful)
        let response = try await network.data(
            .lawful.with {
                $0.headerFields[.range] = "bytes=0-3"
                $0.headerFields[.ifRange] = condition
            }
        )
        #expect(response.isCached && response.status.code == status)
    }

    // MARK: Removals and events

    @Test func changeRemovesTheResponsesOfAllItsRedirects() async throws {
        let transport = MockTransport { request in
            switch (request.method, request.target) {
            case (.put, "/a"): .redirect(to: "/b", status: .temporaryRedirect)
            case (.put, "/b"): .redirect(to: "/c", status: .temporaryRedirect)
            default: .ok(headerFields: [.cacheControl: "max-age=100"])
            }
        }
        let network = transport.cached(in: store)
        for target in ["/a", "/b", "/c"] { try await network.data(.lawful.with { $0.target = target }) }
        try await network.data(
            .lawful.with {
                $0.method = .put
                $0.target = "/a"
            }
        )
        for target in ["/a", "/b", "/c"] {
            #expect(try await !network.data(.lawful.with { $0.target = target }).isCached, "\(target)")
        }
    }

    @Test func cookieOfAStoredResponseDoesNotReturnToTheJar() async throws {
        let jar = CookieJar()
        let transport = MockTransport { _ in
            .ok(headerFields: [.cacheControl: "max-age=100", .setCookie: "session=1"])
        }
        let network = transport.cached(in: store).cookies(in: jar)
        try await network.data(.lawful.with { $0.authority = "api.example.com" })
        #expect(jar.count == 1)
        jar.removeAll()
        let again = try await network.data(.lawful.with { $0.authority = "api.example.com" })
        #expect(again.isCached)
        #expect(jar.count == 0)
    }

    @Test func tooManyRemovalsAreForgottenOnceTheyAreCarriedOut() {
        let invalidation = CacheInvalidation()
        for number in 0...1_000 { _ = invalidation.invalidate("\(number)") }
        let key = CacheKey(principal: nil, url: "1")
        guard case .several(let removals) = invalidation.unfinishedRemovals(of: key) else {
            Issue.record("The removals do not concern the key.")
            return
        }
        for removal in removals where invalidation.takeOver(removal.token) {
            invalidation.endRemoval(removal.token, hasFailed: false)
        }
        guard case .none = invalidation.unfinishedRemovals(of: key) else {
            Issue.record("The key is still to be removed.")
            return
        }
    }

    @Test func missOfARequestThatMustNotBeSentIsReported() async throws {
        let events = EventRecorder()
        var request = HTTPRequestData.lawful
        request.requiresStoredResponse = true
        request.addObserver(events)
        let network = MockTransport { _ in .ok() }.cached(in: store)
        await #expect(throws: NetworkingError.self) { try await network.send(request) }
        #expect(events.names.contains("cacheMissed"))
    }

    // MARK: Hostile fields

    /// In linear time: with a pass for each field, this takes half a minute.
    @Test func validationWithManyFieldsTakesLittleTime() {
        var fields: HTTPFields = [.eTag: "\"a\""]
        for number in 0..<30_000 { fields.append(HTTPField(name: .init("x-\(number)")!, value: "1")) }
        let start = ContinuousClock.now
        let entry = freshened(freshened(entry(fields), by: fields), by: fields)
        #expect(ContinuousClock.now - start < .seconds(5))
        #expect(entry.response.headerFields.count == CacheRules.maximumFields + 1)
        #expect(CacheRules().refusal(toStore: entry.response, of: .lawful) == .size)
    }

    @Test func responseWithTooManyFieldsIsNotStored() async throws {
        let transport = MockTransport { _ in
            var fields: HTTPFields = [.cacheControl: "max-age=100"]
            for number in 0..<CacheRules.maximumFields {
                fields.append(HTTPField(name: .init("x-\(number)")!, value: "1"))
            }
            return .ok(headerFields: fields)
        }
        #expect(try await transport.cached(in: store).data(.lawful).cacheStatus?.detail == "size")
    }

    @Test func fieldsThatMustNotBeReusedAreWithheldInOnePass() async throws {
        let names = (0..<900).map { "x-\($0)" }
        let transport = MockTransport { _ in
            var fields: HTTPFields = [.cacheControl: "max-age=100, no-cache=\"\(names.joined(separator: ", "))\""]
            for name in names { fields.append(HTTPField(name: .init(name)!, value: "1")) }
            return .ok(headerFields: fields)
        }
        let network = transport.cached(in: store)
        try await network.data(.lawful)
        let response = try await network.data(.lawful)
        #expect(response.isCached && response.headerFields.count == 2)
    }

    @Test(arguments: [
        "max-age=\"60, no-store", "max-age=60, ext=\"a, no-store", "max-age=60, ext=\"a\\\", no-store",
        "max-age=60 \"x, no-store", "\"max-age=60, no-store\"", "max-age=60, ext=\"a\"b, c=\"d, no-store\"e",
        "max-age=60, ext=\"a, NO-STORE=x", "ext=\"a\", max-age=60, \", no-store",
    ]) func restrictiveDirectivesCountInsideOfMalformedQuotes(value: String) {
        #expect(CacheControl([value]).contains(.noStore))
        let isPrivate = CacheControl([value.replacingOccurrences(of: "no-store", with: "private")])
        #expect(isPrivate.isUnqualified(.private) || value.contains("NO-STORE"))
        #expect(!CacheControl([value.replacingOccurrences(of: "no-store", with: "public")]).contains(.public))
    }

    @Test(arguments: ["max-age=60, ext=\"no-store, private\"", "ext=\"a \\\" , no-store\", max-age=60"])
    func directivesInsideOfAQuotedArgumentDoNotCount(value: String) {
        let directives = CacheControl([value])
        #expect(!directives.contains(.noStore) && !directives.contains(.private))
        #expect(directives.seconds(.maxAge) == 60)
    }
}
