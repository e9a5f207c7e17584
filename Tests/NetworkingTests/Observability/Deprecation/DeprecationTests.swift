import Foundation
import HTTPTypes
import Logging
import Networking
import NetworkingTesting
import TestSupport
import Testing

@testable import NetworkingObservability

@Suite(.timeLimit(.minutes(20)))
struct DeprecationTests {
    private let request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/users")

    private func response(
        _ fields: [(String, String)],
        status: HTTPResponse.Status = .ok
    ) throws -> MockResponse {
        var headerFields = HTTPFields()
        for (name, value) in fields {
            headerFields.append(HTTPField(name: try #require(HTTPField.Name(name)), value: value))
        }
        return .status(status, headerFields: headerFields)
    }

    private func deprecation(_ fields: [(String, String)]) async throws -> Deprecation? {
        let response = try response(fields)
        return try await MockTransport { _ in response }.data(request).deprecation
    }

    // MARK: Fields

    /// The examples of RFC 9745 and RFC 8594.
    @Test func readsTheExamplesOfTheStandards() async throws {
        let deprecation = try #require(
            try await deprecation([
                ("Deprecation", "@1688169599"), ("Sunset", "Sun, 30 Jun 2024 23:59:59 GMT"),
                ("Link", #"<https://developer.example.com/deprecation>; rel="deprecation"; type="text/html""#),
                ("Link", #"<http://example.net/sunset>;rel="sunset";type="text/html""#),
                ("Link", "</v2/users>; rel=successor-version"),
            ])
        )
        #expect(deprecation.isDeprecated)
        #expect(deprecation.date == Date(timeIntervalSince1970: 1_688_169_599))
        #expect(deprecation.sunset == Date(timeIntervalSince1970: 1_719_791_999))
        #expect(deprecation.documentation?.absoluteString == "https://developer.example.com/deprecation")
        #expect(deprecation.sunsetPolicy?.absoluteString == "http://example.net/sunset")
        #expect(deprecation.successor?.absoluteString == "https://api.example.com/v2/users")
        #expect(deprecation.dates == "since 2023-06-30, ends on 2024-06-30")
    }

    @Test(arguments: ["true", "?1"])
    func readsAnOlderDraftWithoutADate(value: String) async throws {
        let deprecation = try #require(try await deprecation([("Deprecation", value)]))
        #expect(deprecation.isDeprecated)
        #expect(deprecation.date == nil)
        #expect(deprecation.dates == nil)
    }

    @Test func readsAnOlderDraftWithADate() async throws {
        let deprecation = try await deprecation([("Deprecation", "Fri, 11 Nov 2022 23:59:59 GMT")])
        #expect(deprecation?.date == Date(timeIntervalSince1970: 1_668_211_199))
    }

    @Test func readsASunsetAlone() async throws {
        let deprecation = try await deprecation([("Sunset", "Sat, 31 Dec 2044 23:59:59 GMT")])
        #expect(deprecation?.isDeprecated == false)
        #expect(deprecation?.dates == "ends on 2044-12-31")
    }

    @Test(
        arguments: [
            [], [("Deprecation", "")], [("Deprecation", "false")], [("Deprecation", "?0")], [("Deprecation", "@")],
            [("Deprecation", "@-1")], [("Deprecation", "@999999999999999")], [("Deprecation", "@1e9")],
            [("Deprecation", "1688169599")], [("Deprecation", "@1688169599, @1688169600")],
            [("Deprecation", "@1688169599"), ("Deprecation", "@1688169600")],
            [("Deprecation", String(repeating: "@", count: 100_000))], [("Sunset", "@1688169599")],
            [("Sunset", "Mon, 01 Jan 1900 00:00:00 GMT")], [("Sunset", "tomorrow")],
            [("Sunset", String(repeating: " 1", count: 100_000))],
        ] as [[(String, String)]]
    )
    func ignoresMalformedFields(fields: [(String, String)]) async throws {
        #expect(try await deprecation(fields) == nil)
    }

    @Test(
        arguments: [
            "<javascript:alert(1)>; rel=deprecation", "<file:///etc/passwd>; rel=deprecation", "<>; rel=deprecation",
            "<https:///x>; rel=deprecation", "<https://a.example>; rel=deprecation; anchor=\"/other\"",
            "<https://a.example>; rel=" + String(repeating: "x", count: 70_000),
        ]
    )
    func ignoresOtherLinks(link: String) async throws {
        let deprecation = try #require(try await deprecation([("Deprecation", "@1"), ("Link", link)]))
        #expect(deprecation.documentation == nil)
    }

    // MARK: Reports

    @Test func reportsOncePerRouteAndAnnouncement() async throws {
        let first = try response([("Deprecation", "@1782777600")])
        let second = try response([("Deprecation", "@1782777600"), ("Sunset", "Wed, 30 Jun 2027 00:00:00 GMT")])
        let transport = MockTransport([first, first, first, second, second])
        let (notices, log, events) = (DeprecationNotices(), LogRecorder(), EventRecorder())
        let network = transport.deprecationsReported(to: notices).observed(by: events)
            .environment(\.logger, log.logger())
        #expect(network.diagnostics.isEmpty)

        try await network.data(request)
        try await network.data(request)
        var other = request
        (other.path, other.route) = ("/users/42", "/users/{id}")
        try await network.data(other)
        try await network.data(request)
        try await network.data(request)

        let expected = [
            "GET https://api.example.com/users is deprecated since 2026-06-30",
            "GET https://api.example.com/users/{id} is deprecated since 2026-06-30",
            "GET https://api.example.com/users is deprecated since 2026-06-30, ends on 2027-06-30",
        ]
        #expect(log.messages == expected)
        #expect(log.lines.allSatisfy { $0.level == .warning })
        #expect(notices.all.map(\.description) == [expected[2], expected[1]])
        #expect(events.events.count { $0 is DeprecationEvent } == 3)
        #expect(
            network.diagnostics.map(\.message) == [
                "deprecationsReported has found that \(expected[2]). Use its successor.",
                "deprecationsReported has found that \(expected[1]). Use its successor.",
            ]
        )
        notices.removeAll()
        #expect(notices.all.isEmpty)
        #expect(network.diagnostics.isEmpty)
    }

    @Test func reportsResponsesThatOtherPartsRefuse() async throws {
        let gone = try response([("Sunset", "Sat, 31 Dec 2022 23:59:59 GMT")], status: .gone)
        let notices = DeprecationNotices()
        let library = MockTransport { _ in gone }.checkedStatusCode().deprecationsReported(to: notices)
        await #expect(throws: NetworkingError.self) { try await library.data(request) }
        #expect(notices.all.map(\.description) == ["GET https://api.example.com/users ends on 2022-12-31"])

        notices.removeAll()
        let app = MockTransport { _ in gone }.checkedStatusCode { _ in Refused() }.deprecationsReported(to: notices)
        await #expect(throws: Refused.self) { try await app.data(request) }
        #expect(notices.all.count == 1)
    }

    private struct Refused: Error {}

    @Test func noticeOfARedirectNamesThePathThatIsDeprecated() async throws {
        let announced = try response([("Deprecation", "@1782777600")])
        let transport = MockTransport([.redirect(to: "https://old.example.com/people/42"), announced])
        let notices = DeprecationNotices()
        let network = transport.deprecationsReported(to: notices).environment(\.logger, LogRecorder().logger())
        try await network.data(request.with { ($0.path, $0.route) = ("/users/42", "/users/{id}") })
        let expected = ["GET https://old.example.com/people/42 is deprecated since 2026-06-30"]
        #expect(notices.all.map(\.description) == expected)
    }

    @Test func keepsABoundedNumberOfRoutesAndChanges() async throws {
        let notices = DeprecationNotices()
        let transport = MockTransport { request in
            let second = request.headerFields[.ifMatch] ?? "1"
            return .ok(headerFields: [HTTPField.Name("Deprecation")!: "@\(second)"])
        }
        let network = transport.deprecationsReported(to: notices).environment(\.logger, LogRecorder().logger(.critical))
        for day in 0..<20 {
            var request = request
            request.headerFields[.ifMatch] = "\(day * 86_400)"
            try await network.data(request)
        }
        #expect(notices.all.map(\.deprecation.dates) == ["since 1970-01-09"])
        for number in 0..<300 {
            try await network.data(HTTPRequestData(authority: "api.example.com", path: "/\(number)"))
        }
        #expect(notices.all.count == 256)
    }

    @Test func noticesHaveNoSecrets() async throws {
        let link = "<https://user:SECRET@docs.example.com/?token=SECRET>; rel=deprecation"
        let announced = try response([("Deprecation", "@1"), ("Link", link)])
        let (notices, log) = (DeprecationNotices(), LogRecorder())
        let network = MockTransport { _ in announced }.deprecationsReported(to: notices)
            .environment(\.logger, log.logger())
        var request = HTTPRequestData(scheme: "https", authority: "api.example.com", path: "/SECRET/x?token=SECRET")
        request.markSecret("SECRET")
        try await network.data(request)
        #expect(log.messages.count == 1)
        #expect(log.text.contains("see https://"))
        #expect(!log.text.contains("SECRET"))
        #expect(notices.all.count == 1)
        #expect(!"\(notices.all)\(network.diagnostics)".contains("SECRET"))
    }
}
