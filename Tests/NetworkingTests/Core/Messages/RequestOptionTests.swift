import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestOptionTests {
    @Test func hasItsDefaultUntilItIsSet() {
        var request = HTTPRequestData()
        #expect(request[.importance] == 0)
        request[.importance] = 3
        #expect(request[.importance] == 3)
        request[.importance] = 4
        #expect(request[.importance] == 4)
    }

    @Test func optionsOfOneTypeDoNotMix() {
        var request = HTTPRequestData()
        request[.importance] = 1
        request[.tenant] = "blue"
        request[.language] = "de"
        #expect(request[.importance] == 1)
        #expect(request[.tenant] == "blue")
        #expect(request[.language] == "de")
    }

    @Test func diagnosticsReportAnOptionUnlessItsDeclarationSaysOtherwise() {
        let reported = RequestOption("reported", default: 0, affects: .nothing)
        let silent = RequestOption("silent", default: 0, affects: .nothing, isReported: false)
        var request = HTTPRequestData()
        request[reported] = 1
        request[silent] = 1
        #expect(MockTransport().diagnostics(for: request).map(\.option) == [reported])
    }

    @Test func nilIsAValueLikeAnyOther() {
        var request = HTTPRequestData()
        #expect(request[.language] == "en")
        request[.language] = nil
        #expect(request[.language] == nil)
    }

    @Test func keepsAnExistential() {
        var request = HTTPRequestData()
        request[.anything] = [1, 2]
        #expect(request[.anything] as? [Int] == [1, 2])
    }

    @Test func optionWithoutAnIdentityIsIgnoredByEquality() {
        var request = HTTPRequestData(path: "a")
        var other = request
        other[.importance] = 3
        #expect(other == request)
        #expect(other.hashValue == request.hashValue)
        request[.importance] = 4
        #expect(other == request)
    }

    @Test func optionWithAnIdentityIsPartOfEquality() {
        let request = HTTPRequestData(path: "a")
        var blue = request
        blue[.tenant] = "blue"
        var green = request
        green[.tenant] = "green"
        var alsoBlue = request
        alsoBlue[.importance] = 1
        alsoBlue[.tenant] = "blue"
        #expect(blue != request)
        #expect(blue != green)
        #expect(blue == alsoBlue)
        #expect(blue.hashValue == alsoBlue.hashValue)
        alsoBlue[.tenant] = "public"
        #expect(alsoBlue == request)
    }

    @Test func valueIsComparedByThePartThatTheDeclarationNames() {
        let request = HTTPRequestData(path: "a").with { $0[.user] = User(id: 1, name: "Emily") }
        #expect(request == request.with { $0[.user].name = "Emil" })
        #expect(request != request.with { $0[.user].id = 2 })
        #expect(request != HTTPRequestData(path: "a"))
        #expect(HTTPRequestData(path: "a") == HTTPRequestData(path: "a").with { $0[.user].name = "Emil" })
    }

    @Test func valueThatCannotBeComparedEqualsItsCopiesOnly() {
        let plain = HTTPRequestData(path: "a")
        let one = plain.with { $0[.handler] = {} }
        let copy = one
        let other = plain.with { $0[.handler] = {} }
        #expect(one.optionIdentities == copy.optionIdentities)
        #expect(one.optionIdentities != other.optionIdentities)
        #expect(one.with { $0[.handler] = nil }.optionIdentities == plain.optionIdentities)
        #expect(one == plain)
    }

    @Test func valueIsNormalized() {
        let request = HTTPRequestData().with { $0[.percentage] = 700 }
        #expect(request[.percentage] == 100)
        #expect(request.optionIdentities == HTTPRequestData().with { $0[.percentage] = 100 }.optionIdentities)
    }

    @Test func eachDeclarationIsAnotherOption() {
        let one = RequestOption("a", default: 0, affects: .nothing)
        let other = RequestOption("a", default: "", affects: .nothing)
        let request = HTTPRequestData()
            .with {
                $0[one] = 7
                $0[other] = "text"
            }
        #expect((request[one], request[other]) == (7, "text"))
        #expect(one == one && one != other)
        #expect(Set<RequestOptionKey>([one, other, one]).count == 2)
        #expect("\(one)" == "a")
    }

    @Test func optionMayKeepTransportsFromSendingAgain() async throws {
        let request = HTTPRequestData(authority: "api.example.com")
        #expect(!MockTransport().diagnostics(for: request.with { $0[.frozen] = false }).isEmpty)
        #expect(MockTransport().diagnostics(for: request.with { $0[.frozen] = true }).isEmpty)
    }

    @Test func orderOfSettingIsIgnoredByEquality() {
        var one = HTTPRequestData()
        one[.tenant] = "blue"
        one[.scope] = 1
        var other = HTTPRequestData()
        other[.scope] = 1
        other[.tenant] = "blue"
        #expect(one == other)
    }

    @Test func copyKeepsItsOwnOptions() {
        var request = HTTPRequestData()
        request[.importance] = 1
        var copy = request
        copy[.importance] = 2
        #expect(request[.importance] == 1)
        #expect(copy[.importance] == 2)
    }

    // MARK: Set by the stack

    @Test func valueOfTheStackReachesTheTransportAndNotTheCaller() async throws {
        let hops = Journal()
        let network = MockTransport { _ in .ok() }.modified(HopsNoted(journal: hops)).modified(HopCounted())
        let response = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(hops.entries == ["1"])
        #expect(response.sentRequest[.hop] == 0)
        #expect(response.sentRequest[.importance] == 2)
    }

    @Test func errorHasNoValueOfTheStack() {
        var request = HTTPRequestData(path: "a")
        request[.hop] = 1
        request[.importance] = 2
        let error = NetworkingError(.connection, request: request)
        #expect(error.request[.hop] == 0)
        #expect(error.request[.importance] == 2)
    }

    @Test func diagnosticsDoNotReportValuesOfTheStack() {
        var request = HTTPRequestData(authority: "api.example.com")
        request[.hop] = 1
        #expect(MockTransport().diagnostics(for: request).isEmpty)
        request[.importance] = 2
        #expect(MockTransport().diagnostics(for: request).map(\.option?.name) == ["importance"])
    }
}

extension RequestOptionKey {
    fileprivate static let hop = RequestOption("hop", default: 0, affects: .nothing, isSetByStack: true)
    fileprivate static let importance = RequestOption("importance", default: 0, affects: .nothing)
    fileprivate static let tenant = RequestOption("tenant", default: "public", affects: .responses)
    fileprivate static let scope = RequestOption("scope", default: 0, affects: .responses)
    fileprivate static let language = RequestOption<String?>("language", default: "en", affects: .nothing)
    fileprivate static let anything = RequestOption<any Sendable>("anything", default: 0, affects: .nothing)
    fileprivate static let percentage = RequestOption(
        "percentage",
        default: 0,
        affects: .sending,
        normalized: { min(max($0, 0), 100) }
    )
    fileprivate static let frozen = RequestOption(
        "frozen",
        default: false,
        affects: .nothing,
        forbidsResending: { $0 }
    )
    fileprivate static let handler = RequestOption<(@Sendable () -> Void)?>(
        "handler",
        default: nil,
        affects: .sending { _ in nil }
    )
    fileprivate static let user = RequestOption<User>(
        "user",
        default: User(id: 0, name: ""),
        affects: .responses { $0.id }
    )
}

private struct User: Sendable {
    var id: Int
    var name: String
}

private struct HopCounted: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request[.hop] += 1
        request[.importance] = 2
        return try await upstream.send(request)
    }
}

private struct HopsNoted: NetworkingModifier {
    let journal: Journal

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        journal.note("\(request[.hop])")
        return try await upstream.send(request)
    }
}
