import Networking
import NetworkingTesting
import Testing

@Suite
struct RequestOptionTests {
    @Test func hasItsDefaultUntilItIsSet() {
        var request = HTTPRequestData()
        #expect(request[option: Importance.self] == 0)
        request[option: Importance.self] = 3
        #expect(request[option: Importance.self] == 3)
        request[option: Importance.self] = 4
        #expect(request[option: Importance.self] == 4)
    }

    @Test func optionsOfOneTypeDoNotMix() {
        var request = HTTPRequestData()
        request[option: Importance.self] = 1
        request[option: Tenant.self] = "blue"
        request[option: Language.self] = "de"
        #expect(request[option: Importance.self] == 1)
        #expect(request[option: Tenant.self] == "blue")
        #expect(request[option: Language.self] == "de")
    }

    @Test func nilIsAValueLikeAnyOther() {
        var request = HTTPRequestData()
        #expect(request[option: Language.self] == "en")
        request[option: Language.self] = nil
        #expect(request[option: Language.self] == nil)
    }

    @Test func keepsAnExistential() {
        var request = HTTPRequestData()
        request[option: Anything.self] = [1, 2]
        #expect(request[option: Anything.self] as? [Int] == [1, 2])
    }

    @Test func optionWithoutAnIdentityIsIgnoredByEquality() {
        var request = HTTPRequestData(path: "a")
        var other = request
        other[option: Importance.self] = 3
        #expect(other == request)
        #expect(other.hashValue == request.hashValue)
        request[option: Importance.self] = 4
        #expect(other == request)
    }

    @Test func optionWithAnIdentityIsPartOfEquality() {
        let request = HTTPRequestData(path: "a")
        var blue = request
        blue[option: Tenant.self] = "blue"
        var green = request
        green[option: Tenant.self] = "green"
        var alsoBlue = request
        alsoBlue[option: Importance.self] = 1
        alsoBlue[option: Tenant.self] = "blue"
        #expect(blue != request)
        #expect(blue != green)
        #expect(blue == alsoBlue)
        #expect(blue.hashValue == alsoBlue.hashValue)
        alsoBlue[option: Tenant.self] = "public"
        #expect(alsoBlue == request)
    }

    @Test func orderOfSettingIsIgnoredByEquality() {
        var one = HTTPRequestData()
        one[option: Tenant.self] = "blue"
        one[option: Scope.self] = 1
        var other = HTTPRequestData()
        other[option: Scope.self] = 1
        other[option: Tenant.self] = "blue"
        #expect(one == other)
    }

    @Test func copyKeepsItsOwnOptions() {
        var request = HTTPRequestData()
        request[option: Importance.self] = 1
        var copy = request
        copy[option: Importance.self] = 2
        #expect(request[option: Importance.self] == 1)
        #expect(copy[option: Importance.self] == 2)
    }

    // MARK: Set by the stack

    @Test func valueOfTheStackReachesTheTransportAndNotTheCaller() async throws {
        let hops = Journal()
        let network = MockTransport { _ in .ok() }.modified(HopsNoted(journal: hops)).modified(HopCounted())
        let response = try await network.data(HTTPRequestData(authority: "api.example.com"))
        #expect(hops.entries == ["1"])
        #expect(response.sentRequest[option: Hop.self] == 0)
        #expect(response.sentRequest[option: Importance.self] == 2)
    }

    @Test func errorHasNoValueOfTheStack() {
        var request = HTTPRequestData(path: "a")
        request[option: Hop.self] = 1
        request[option: Importance.self] = 2
        let error = NetworkingError(.connection, request: request)
        #expect(error.request[option: Hop.self] == 0)
        #expect(error.request[option: Importance.self] == 2)
    }

    @Test func diagnosticsDoNotReportValuesOfTheStack() {
        var request = HTTPRequestData(authority: "api.example.com")
        request[option: Hop.self] = 1
        #expect(MockTransport().diagnostics(for: request).isEmpty)
        request[option: Importance.self] = 2
        #expect(MockTransport().diagnostics(for: request).map(\.option?.name) == ["Importance"])
    }
}

private enum Hop: RequestOption {
    static let defaultValue = 0
    static let isSetByStack = true
}

private struct HopCounted: NetworkingModifier {
    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        var request = request
        request[option: Hop.self] += 1
        request[option: Importance.self] = 2
        return try await upstream.send(request)
    }
}

private struct HopsNoted: NetworkingModifier {
    let journal: Journal

    func send(_ request: HTTPRequestData, upstream: some NetworkingComponent) async throws -> HTTPResponseData {
        journal.note("\(request[option: Hop.self])")
        return try await upstream.send(request)
    }
}

private enum Importance: RequestOption {
    static let defaultValue = 0
}

private enum Tenant: RequestOption {
    static let defaultValue = "public"

    static func identity(of value: String) -> (any Hashable & Sendable)? {
        value == defaultValue ? nil : value
    }
}

private enum Scope: RequestOption {
    static let defaultValue = 0

    static func identity(of value: Int) -> (any Hashable & Sendable)? {
        value
    }
}

private enum Language: RequestOption {
    static let defaultValue: String? = "en"
}

private enum Anything: RequestOption {
    static var defaultValue: any Sendable { 0 }
}
