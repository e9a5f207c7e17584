import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingBackgroundTransfers
@testable import NetworkingTransfers

/// The `localizedDescription` of errors other than ``NetworkingError``.
@Suite(.timeLimit(.minutes(5)))
struct ErrorTextTests {
    private let secret = "/home/emily/secret.mp4"

    @Test func textOfADamagedPartialFile() {
        let error = DownloadStateError(reason: "\(secret) is damaged.")
        #expect(error.errorDescription == "A file could not be read or written.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
        #expect("\(error)" == "\(secret) is damaged.")
    }

    @Test func textOfABodyBeyondTheLimit() async throws {
        let error = await #expect(throws: RequestBody.Failure.self) {
            try await RequestBody.file(URL(filePath: #filePath)).collect(upTo: 3)
        }
        #expect(error?.kind == .tooLarge)
        #expect(error?.reason.contains("3 bytes") == true)
        #expect(error?.errorDescription == NetworkingError(.tooLarge, request: .lawful).errorDescription)
    }

    @Test func textOfAnEventBeyondTheLimit() throws {
        var parser = ServerSentEventParser(maximumEventBytes: 4)
        let error = try #require(throws: StreamTooLong.self) { _ = try parser.parse(Data("data: 0123456789\n\n".utf8)) }
        #expect(error.limit == 4)
        #expect("\(error)".contains("more than 4 bytes"))
        #expect(error.errorDescription == NetworkingError(.tooLarge, request: .lawful).errorDescription)
    }

    @Test func textOfUnusedMocks() throws {
        let transport = MockTransport()
        transport.on(.get, "/users", uses: .once, .ok())
        let error = try #require(throws: UnusedMocks.self) { try transport.verifyAllUsed() }
        #expect(error.errorDescription == error.sentences.joined(separator: "\n"))
        #expect(error.errorDescription?.contains("/users") == true)
    }

    @Test func textOfABackgroundTransfer() {
        let offline = BackgroundTransferFailure(NetworkingError(.offline, request: .lawful))
        #expect(offline.errorDescription == "There is no internet connection.")
        let other = BackgroundTransferFailure(CocoaError(.fileNoSuchFile, userInfo: [NSFilePathErrorKey: secret]))
        #expect(other.errorDescription == "The transfer failed.")
    }
}
