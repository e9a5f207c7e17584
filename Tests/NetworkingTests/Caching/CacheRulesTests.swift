import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingCaching

/// Tables of cache decisions: each row has a request, a stored entry, a mode and a time.
///
/// The tests do no I/O.
@Suite(.tags(.memory)) struct CacheRulesTests {
    private static let now = Date(timeIntervalSince1970: 1_800_000_000)

    private static func entry(_ fields: HTTPFields, age: Double = 0, status: Int = 200) -> CachedEntry {
        CachedEntry(
            response: HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields),
            body: Data("body".utf8),
            requestDate: now.addingTimeInterval(-age),
            responseDate: now.addingTimeInterval(-age)
        )
    }

    private static func date(_ seconds: Double) -> String {
        now.addingTimeInterval(seconds).httpDate
    }

    // MARK: Freshness

    struct Freshness: Sendable, CustomTestStringConvertible {
        var fields: HTTPFields
        var lifetime: Double
        var shared: Double?
        var status = 200

        var testDescription: String { "\(status) \(fields)" }
    }

    @Test(arguments: [
        Freshness(fields: [:], lifetime: 0),
        Freshness(fields: [.cacheControl: "max-age=10"], lifetime: 10),
        Freshness(fields: [.cacheControl: "MAX-AGE=10"], lifetime: 10),
        Freshness(fields: [.cacheControl: "max-age=\"10\""], lifetime: 10),
        Freshness(fields: [.cacheControl: "max-age=10, max-age=20"], lifetime: 10),
        Freshness(fields: [.cacheControl: "max-age=-1"], lifetime: 0),
        Freshness(fields: [.cacheControl: "max-age=1.5"], lifetime: 0),
        Freshness(fields: [.cacheControl: "max-age"], lifetime: 0),
        Freshness(fields: [.cacheControl: "max-age =10"], lifetime: 0),
        Freshness(fields: [.cacheControl: "foo=\"max-age=10\""], lifetime: 0),
        Freshness(fields: [.cacheControl: "max-age=99999999999999999999"], lifetime: 2_147_483_648),
        Freshness(fields: [.cacheControl: "max-age=10, s-maxage=20"], lifetime: 10, shared: 20),
        Freshness(fields: [.cacheControl: "s-maxage=20"], lifetime: 0, shared: 20),
        Freshness(fields: [.cacheControl: "max-age=10", .expires: date(50)], lifetime: 10),
        Freshness(fields: [.expires: date(50), .date: date(0)], lifetime: 50),
        Freshness(fields: [.expires: date(50), .date: date(-10)], lifetime: 60),
        Freshness(fields: [.expires: "0"], lifetime: 0),
        Freshness(fields: [.expires: date(50).lowercased(), .date: date(0)], lifetime: 50),
        Freshness(fields: [.expires: date(50).replacing("GMT", with: "UTC"), .date: date(0)], lifetime: 0),
        Freshness(fields: [.expires: date(50).replacing("GMT", with: "CET"), .date: date(0)], lifetime: 0),
        Freshness(fields: [.expires: "Friday, 15-Jan-27 08:00:50 GMT", .date: date(0)], lifetime: 50),
        Freshness(fields: [.expires: "Friday, 15-Jan-27 08:00:50 UTC", .date: date(0)], lifetime: 0),
        Freshness(fields: [.expires: "Fri Jan 15 08:00:50 2027", .date: date(0)], lifetime: 50),
        Freshness(fields: [.expires: "soon", .lastModified: date(-1_000)], lifetime: 0),
        Freshness(fields: [.lastModified: date(-1_000), .date: date(0)], lifetime: 100),
        Freshness(fields: [.lastModified: date(1_000), .date: date(0)], lifetime: 0),
        Freshness(fields: [.lastModified: date(-1_000), .date: date(0)], lifetime: 0, status: 403),
        Freshness(fields: [.lastModified: date(-1_000), .cacheControl: "public"], lifetime: 100, status: 403),
        Freshness(fields: [.cacheControl: "max-age=10", .cdnCacheControl: "max-age=20"], lifetime: 10, shared: 20),
        Freshness(fields: [.cacheControl: "max-age=10", .cdnCacheControl: ""], lifetime: 10, shared: 10),
    ])
    func lifetimes(row: Freshness) {
        let entry = Self.entry(row.fields, status: row.status)
        #expect(CacheRules().lifetime(of: entry) == row.lifetime)
        #expect(CacheRules(isShared: true).lifetime(of: entry) == row.shared ?? row.lifetime)
    }

    @Test(
        arguments: [
            ([:], 5), ([.age: "10"], 15), ([.date: date(-25)], 25), ([.date: date(-25), .age: "3"], 25),
            ([.age: "-7"], 5), ([.age: "7, 9"], 12), ([.age: "abc"], 5), ([.date: date(100)], 5),
            ([.age: "99999999999"], 2_147_483_653),
        ] as [(HTTPFields, Double)]
    )
    func ages(fields: HTTPFields, age: Double) {
        let entry = Self.entry(fields, age: 5)
        #expect(CacheRules().age(of: entry, at: Self.now) == age)
        // The age is unknown after the clock was set back.
        #expect(CacheRules().age(of: entry, at: Self.now.addingTimeInterval(-6)) == nil)
    }

    // MARK: Storing

    @Test(
        arguments: [
            (200, [:], true, true), (200, [.cacheControl: "no-store"], false, false),
            (200, [.cacheControl: "private"], true, false), (200, [.cacheControl: "private=\"x-foo\""], true, true),
            (200, [.cacheControl: "no-store, must-understand"], true, true),
            (299, [.cacheControl: "max-age=10, must-understand"], false, false),
            (599, [.cacheControl: "max-age=10"], true, true), (599, [:], false, false),
            (302, [:], false, false), (302, [.cacheControl: "max-age=10"], true, true),
            (404, [.eTag: "\"a\""], true, true), (304, [.cacheControl: "max-age=10"], false, false),
            (206, [.cacheControl: "max-age=10"], false, false),
            (206, [.cacheControl: "max-age=10", .contentRange: "bytes 0-3/10"], true, true),
            (200, [.cacheControl: "max-age=10", .vary: "*"], false, false),
            (200, [.cacheControl: "max-age=10", .vary: "accept, *"], false, false),
        ] as [(Int, HTTPFields, Bool, Bool)]
    )
    func rulesDecideWhetherAResponseIsStored(status: Int, fields: HTTPFields, isStored: Bool, isStoredByShared: Bool) {
        let response = HTTPResponse(status: HTTPResponse.Status(code: status), headerFields: fields)
        #expect((CacheRules().refusal(toStore: response, of: .lawful) == nil) == isStored)
        #expect((CacheRules(isShared: true).refusal(toStore: response, of: .lawful) == nil) == isStoredByShared)
    }

    // MARK: Deciding

    struct Case: Sendable, CustomTestStringConvertible {
        var request: HTTPFields = [:]
        var mode = CacheMode.standard
        var stored: HTTPFields? = [.cacheControl: "max-age=10"]
        var age = 0.0
        var decision: String

        var testDescription: String { "\(request) \(mode) \(stored.map { "\($0)" } ?? "-") \(age)" }
    }

    @Test(arguments: [
        Case(stored: nil, decision: "forward uri-miss"),
        Case(mode: .onlyIfCached, stored: nil, decision: "504"),
        Case(request: [.cacheControl: "only-if-cached"], stored: nil, decision: "504"),
        Case(age: 9, decision: "fresh"),
        Case(age: 10, decision: "validate"),
        Case(request: [.cacheControl: "only-if-cached"], age: 10, decision: "504"),
        Case(mode: .forceCache, age: 1_000, decision: "fresh"),
        Case(mode: .noCache, decision: "validate"),
        Case(mode: .reload, decision: "forward bypass"),
        Case(mode: .noStore, decision: "forward bypass"),
        Case(mode: .readOnly, decision: "fresh"),
        Case(mode: .fixed(.seconds(100)), age: 99, decision: "fresh"),
        Case(mode: .fixed(.seconds(100)), age: 100, decision: "validate"),
        Case(mode: .fixed(.seconds(5)), age: 6, decision: "validate"),
        Case(mode: .fixed(.seconds(100)), stored: [.cacheControl: "no-cache"], age: 99, decision: "fresh"),
        Case(request: [.cacheControl: "no-cache"], decision: "validate"),
        Case(request: [.cacheControl: "no-store"], decision: "forward request"),
        Case(request: [.ifMatch: "\"a\""], decision: "forward request"),
        Case(request: [.cacheControl: "max-age=5"], age: 5, decision: "fresh"),
        Case(request: [.cacheControl: "max-age=5"], age: 6, decision: "validate"),
        Case(request: [.cacheControl: "min-fresh=5"], age: 5, decision: "fresh"),
        Case(request: [.cacheControl: "min-fresh=5"], age: 6, decision: "validate"),
        Case(request: [.cacheControl: "max-stale=5"], age: 15, decision: "fresh"),
        Case(request: [.cacheControl: "max-stale=5"], age: 16, decision: "validate"),
        Case(request: [.cacheControl: "max-stale"], age: 1_000, decision: "fresh"),
        Case(request: [.cacheControl: "max-stale=x"], age: 11, decision: "validate"),
        Case(
            request: [.cacheControl: "max-stale"],
            stored: [.cacheControl: "max-age=10, must-revalidate"],
            age: 11,
            decision: "validate"
        ),
        Case(stored: [.cacheControl: "max-age=10, no-cache"], decision: "validate"),
        Case(stored: [.cacheControl: "max-age=10, no-cache=\"x-foo\""], decision: "fresh"),
        Case(
            request: [.cacheControl: "max-age=0"],
            stored: [.cacheControl: "max-age=10, immutable"],
            age: 5,
            decision: "fresh"
        ),
        Case(stored: [.cacheControl: "max-age=10, stale-while-revalidate=5"], age: 15, decision: "stale"),
        Case(stored: [.cacheControl: "max-age=10, stale-while-revalidate=5"], age: 16, decision: "validate"),
        Case(
            stored: [.cacheControl: "max-age=10, stale-while-revalidate=5, must-revalidate"],
            age: 11,
            decision: "validate"
        ),
        Case(stored: [.cacheControl: "max-age=10", .vary: "accept"], decision: "fresh"),
        Case(
            request: [.accept: "text/html"],
            stored: [.cacheControl: "max-age=10", .vary: "accept"],
            decision: "forward vary-miss"
        ),
        Case(
            request: [.accept: "text/html"],
            stored: [.cacheControl: "max-age=10", .vary: "accept", .eTag: "\"a\""],
            decision: "validate"
        ),
    ])
    func decisions(row: Case) {
        let request = HTTPRequestData.lawful.with { request in
            for field in row.request {
                request.headerFields[field.name] = field.value
            }
        }
        let entries = row.stored.map { [Self.entry($0, age: row.age)] } ?? []
        let decision = CacheRules().decide(about: request, .none, entries: entries, mode: row.mode, now: Self.now)
        let text =
            switch decision {
            case .serve(_, _, let isStale): isStale ? "stale" : "fresh"
            case .validate: "validate"
            case .forward(let reason): "forward \(reason.rawValue)"
            case .unsatisfiable: "504"
            }
        #expect(text == row.decision)
    }

    @Test(arguments: [
        ("max-age=10", true, true), ("max-age=10, must-revalidate", true, false), ("max-age=10, no-cache", true, false),
        ("max-age=10", false, false), ("max-age=10, stale-if-error=100", false, true),
        ("max-age=10, stale-if-error=50", false, false), ("max-age=10, stale-if-error=50", true, false),
    ])
    func staleEntryReplacesAFailureWithinItsLimits(control: String, isUnreachable: Bool, mayStandIn: Bool) {
        let entry = Self.entry([.cacheControl: control], age: 100)
        let rules = CacheRules()
        #expect(rules.mayStandIn(entry, for: .lawful, unreachable: isUnreachable, at: Self.now) == mayStandIn)
    }

    // MARK: Fields of requests

    @Test(
        arguments: [
            ("bytes=0-", 0..<10), ("bytes=9-", 9..<10), ("bytes=10-", nil), ("bytes=2-4", 2..<5),
            ("bytes=8-20", 8..<10),
            ("bytes=10-12", nil), ("bytes=-3", 7..<10), ("bytes=-20", 0..<10), ("bytes=-0", nil), ("bytes=4-2", nil),
        ] as [(String, Range<Int>?)]
    )
    func rangeSelectsBytesOfARepresentation(field: String, bounds: Range<Int>?) {
        #expect(ByteRange(field)?.bounds(of: 10) == bounds)
    }

    @Test(arguments: [
        ("\"a\", W/\"b\"", ["\"a\"", "W/\"b\""]), ("\"a,b\" ,\t\"c\"", ["\"a,b\"", "\"c\""]),
        ("\"a\"\"b\"", ["\"a\"", "\"b\""]), ("a, \"b\"", ["a", "\"b\""]), ("\"a\", *", ["*"]), ("", []),
    ])
    func entityTagsOfAListAreSeparated(list: String, tags: [String]) {
        #expect(list.entityTags == tags)
    }

    @Test(arguments: [
        ("accept-language", "DE ; q=0.8,\ten;\tQ=0.5", "de;q=0.8, en;q=0.5"),
        ("accept-encoding", "gzip , BR", "br, gzip"), ("x-order", "b ,  A c", "b, A c"),
    ])
    func insignificantDifferencesOfAFieldDoNotCount(name: String, value: String, normalized: String) {
        #expect(CacheRules.normalized([value], name) == normalized)
    }

    /// The newest matching entry is used (RFC 9111, section 4).
    @Test func newestMatchingEntryIsUsed() {
        let entries = [3.0, 1, 2].map { Self.entry([.cacheControl: "max-age=10", .date: Self.date(-$0)], age: $0) }
        guard
            case .serve(let entry, _, _) = CacheRules()
                .decide(
                    about: .lawful,
                    .none,
                    entries: entries,
                    mode: .standard,
                    now: Self.now
                )
        else { return #expect(Bool(false)) }
        #expect(entry.id == entries[1].id)
    }
}
