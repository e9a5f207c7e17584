import Foundation
import HTTPTypes
import NetworkingTesting
import Testing

@testable import Networking

/// What an app shows its user of errors that are no ``NetworkingError``, by `localizedDescription`.
@Suite(.timeLimit(.minutes(5)))
struct ErrorTextTests {
    private let secret = "/home/emily/secret.mp4"

    @Test func aKeptPartOfADownload() {
        let error = DownloadStateError(reason: "\(secret) is damaged.")
        #expect(error.errorDescription == "Saved data could not be read or written.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
        #expect("\(error)" == "\(secret) is damaged.")
    }

    @Test func aBodyThatCannotBeRead() async throws {
        struct Broken: Error {}
        let body = RequestBody.json(FloatingPoint(value: .infinity))
        let error = await #expect(throws: RequestBody.Failure.self) { try await body.collect() }
        #expect(error?.kind == .unencodableBody)
        #expect(error?.errorDescription == NetworkingError(.unencodableBody, request: .lawful).errorDescription)
        #expect(error?.errorDescription?.isEmpty == false)
        #expect(error?.errorDescription != error?.reason)
    }

    private struct FloatingPoint: Encodable {
        let value: Double
    }

    @Test func aLineThatIsTooLong() async throws {
        let transport = MockTransport([.text("0123456789\n")])
        let error = await #expect(throws: (any Error).self) {
            for try await _ in try await transport.lines(.lawful, maximumLineBytes: 4) {}
        }
        let networkingError = try #require(error as? NetworkingError)
        let cause = try #require(networkingError.underlying as? StreamTooLong ?? error as? StreamTooLong)
        #expect(cause.limit == 4)
        #expect("\(cause)".contains("more than 4 bytes"))
        #expect(cause.errorDescription == NetworkingError(.tooLarge, request: .lawful).errorDescription)
    }

    @Test func mocksThatWereNotUsed() throws {
        let transport = MockTransport()
        transport.on(.get, "/users", uses: .once, .ok())
        let error = try #require(throws: UnusedMocks.self) { try transport.verifyAllUsed() }
        #expect(error.errorDescription == error.sentences.joined(separator: "\n"))
        #expect(error.errorDescription?.contains("/users") == true)
    }

    @Test func aTransferInTheBackground() {
        let offline = BackgroundTransferFailure(NetworkingError(.offline, request: .lawful))
        #expect(offline.errorDescription == "There is no internet connection.")
        let other = BackgroundTransferFailure(CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: secret]))
        #expect(other.errorDescription == "The transfer failed.")
    }
}
