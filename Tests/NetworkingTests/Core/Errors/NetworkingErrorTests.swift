import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingBackgroundTransfers
@testable import NetworkingCore
@testable import NetworkingTransfers

@Suite
struct NetworkingErrorTests {
    private let request = HTTPRequestData(
        scheme: "https",
        authority: "u:hunter2@example.com",
        path: "a?token=hunter2",
        headerFields: [.authorization: "Bearer hunter2"],
        body: .form(["password": "hunter2"])
    )

    /// An initializer of the ancestor library overwrote the kind with `unknown`.
    @Test(arguments: NetworkingError.Kind.allCases)
    func keepsItsKindAndReason(kind: NetworkingError.Kind) {
        let error = NetworkingError(kind, request: request)
        #expect(error.kind == kind)
        #expect(error.request == request)
        #expect(error.request.id == request.id)
        #expect(error.response == nil)
        #expect(error.underlying == nil)
        #expect(error.reason.hasSuffix(".") || error.reason.hasSuffix("(401)."))
        #expect(error.description == "\(request): \(error.reason)")
        #expect(error.debugDescription == "NetworkingError.\(kind): \(error.description)")
    }

    @Test func everyKindHasItsOwnSentence() {
        let reasons = NetworkingError.Kind.allCases.map { NetworkingError($0, request: request).reason }
        #expect(Set(reasons).count == reasons.count)
    }

    @Test func kindIsTheLabelOfAMetric() {
        #expect(NetworkingError.Kind.tooManyRedirects.rawValue == "tooManyRedirects")
        #expect(NetworkingError.Kind(rawValue: "status") == .status)
        #expect(NetworkingError.Kind(rawValue: "unknown") == nil)
    }

    @Test(arguments: NetworkingError.Kind.allCases)
    func predicatesFollowTheKind(kind: NetworkingError.Kind) {
        let error = NetworkingError(kind, request: request)
        #expect(error.isTimeout == [.timeout, .deadline].contains(kind))
        #expect(error.isOffline == (kind == .offline))
        #expect(error.isUnauthorized == (kind == .unauthorized))
        #expect(error.isDecodingFailure == (kind == .decoding))
    }

    /// The ancestor library treated an unreachable server as being offline.
    @Test(arguments: [.connection, .nameResolution, .connectionLost, .tls] as [NetworkingError.Kind])
    func unreachableServerIsNotOffline(kind: NetworkingError.Kind) {
        #expect(!NetworkingError(kind, request: request).isOffline)
    }

    @Test func readsTheStatusOfItsResponse() {
        func error(_ status: HTTPResponse.Status) -> NetworkingError {
            NetworkingError(.status, request: request, response: HTTPResponseData(request: request, status: status))
        }
        #expect(error(.requestTimeout).isTimeout)
        #expect(!error(.gatewayTimeout).isTimeout)
        #expect(error(.unauthorized).isUnauthorized)
        #expect(!error(.forbidden).isUnauthorized)
    }

    // MARK: Bodies

    private struct Problem: Codable, Equatable {
        var title: String
    }

    private func error(body: Data) -> NetworkingError {
        NetworkingError(.status, request: request, response: HTTPResponseData(request: request, data: body))
    }

    @Test func decodesTheServersDescription() throws {
        let error = error(body: Data(#"{"title":"No"}"#.utf8))
        #expect(try error.decodeBody(as: Problem.self) == Problem(title: "No"))
        #expect(error.bodyText == #"{"title":"No"}"#)
    }

    @Test func decodesWithAnotherDecoder() throws {
        let encoder = PropertyListEncoder()
        let error = error(body: try encoder.encode(Problem(title: "No")))
        #expect(try error.decodeBody(as: Problem.self, decoder: PropertyListDecoder()) == Problem(title: "No"))
    }

    @Test func decodingAnInvalidBodyThrowsAndAMissingOneIsNil() throws {
        #expect(throws: DecodingError.self) { try error(body: Data("garbage".utf8)).decodeBody(as: Problem.self) }
        #expect(throws: DecodingError.self) { try error(body: Data()).decodeBody(as: Problem.self) }
        let none = NetworkingError(.offline, request: request)
        #expect(try none.decodeBody(as: Problem.self) == nil)
        #expect(none.bodyText == nil)
    }

    @Test func bodyThatIsNotUTF8HasNoText() {
        #expect(error(body: Data([0xFF, 0xFE])).bodyText == nil)
        #expect(error(body: Data()).bodyText == "")
    }

    // MARK: Text

    @Test func descriptionHasTheReasonAndAWayOut() {
        let error = NetworkingError(.offline, request: HTTPRequestData(authority: "example.com"))
        #expect(
            error.description == "GET https://example.com/: There is no network. Try again when the device is online."
        )
        #expect((error as any Error).localizedDescription == "There is no internet connection.")
    }

    @Test(arguments: NetworkingError.Kind.allCases)
    func localizedDescriptionIsASentenceForTheUser(kind: NetworkingError.Kind) {
        let reason = "hunter2 in https://example.com/a, see request.timeout"
        let error: any Error = NetworkingError(
            kind,
            request: request,
            response: HTTPResponseData(request: request, status: .init(code: 400, reasonPhrase: "hunter2")),
            underlying: URLError(.badURL),
            reason: reason
        )
        let text = error.localizedDescription
        for part in ["http", "example", "hunter2", "GET", "timeout", "/", "Bearer", "400"] {
            #expect(!text.contains(part), "\(text)")
        }
        #expect(text.hasSuffix("."))
        #expect(text.count <= 80)
    }

    @Test(arguments: [
        (403, "You do not have access to this."), (404, "This could not be found on the server."),
        (410, "This is no longer available on the server."), (413, "This is too large for the server."),
        (429, "There are too many requests."), (503, "The server has a problem."),
        (418, "The server refused the request."),
    ])
    func localizedDescriptionOfAStatus(code: Int, text: String) {
        let response = HTTPResponseData(request: request, status: .init(code: code))
        let error: any Error = NetworkingError(.status, request: request, response: response)
        #expect(error.localizedDescription == text)
    }

    @Test func localizedDescriptionOfOtherErrorsNamesNoFile() throws {
        var errors: [any Error] = [
            SessionStorageError.damaged(movedTo: URL(fileURLWithPath: "/secret/session")),
            SessionStorageError.unusable(reason: "/secret/session cannot be read."),
            DownloadStateError(reason: "/secret/film cannot be read."),
            RequestBody.Failure(.storage, reason: "/secret/film cannot be read."),
            StreamTooLong(what: "secret", limit: 1),
        ]
        #if URLSession
        errors.append(BackgroundTransferFailure(CancellationError(), savedFile: URL(fileURLWithPath: "/secret/film")))
        #endif
        for error in errors {
            #expect(!error.localizedDescription.contains("secret"))
            #expect("\(error)".contains("secret"))
        }
    }

    @Test func descriptionsContainNoSecret() throws {
        struct Leaky: Error, CustomStringConvertible {
            let description = "hunter2"
        }
        let response = HTTPResponseData(
            request: request,
            status: .badRequest,
            headerFields: [.setCookie: "session=hunter2"],
            data: Data("hunter2".utf8)
        )
        let error = NetworkingError(.status, request: request, response: response, underlying: Leaky())
        let printed = everyPrint(of: error)
        #expect(!printed.contains("hunter2"))
        #expect(printed.contains("Leaky"))
        #expect(printed.contains("400 Bad Request"))
        #expect(!error.localizedDescription.contains("hunter2"))
        #expect(!everyPrint(of: Result<Int, any Error>.failure(error)).contains("hunter2"))
        #expect((error.underlying as? Leaky)?.description == "hunter2")
    }

    @Test func hasTheMetadataOfAComponent() {
        var error = NetworkingError(.timeout, request: request)
        #expect(error[metadata: Shard.self] == nil)
        let earlier = error
        error[metadata: Shard.self] = 3
        #expect(error[metadata: Shard.self] == 3)
        #expect(earlier[metadata: Shard.self] == nil)
        #expect(error.attempts.isEmpty && error.retryRefusal == nil && error.metrics == nil)
    }

    @Test func errorsOfASingleKindAreTyped() throws {
        let response = HTTPResponseData(request: .lawful, status: .conflict, data: Data("{".utf8))
        let error = NetworkingError(.status, request: .lawful, response: response)
        let decode: () throws(DecodingError) -> [Int]? = { () throws(DecodingError) in
            try error.decodeBody(as: [Int].self)
        }
        #expect(throws: DecodingError.self) { _ = try decode() }
        #expect(try NetworkingError(.offline, request: .lawful).decodeBody(as: [Int].self) == nil)
    }
}

private enum Shard: ResponseMetadata {
    static let defaultValue: Int? = nil
}
