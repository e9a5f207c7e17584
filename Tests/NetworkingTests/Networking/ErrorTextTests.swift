import Foundation
import HTTPTypes
import Networking
import NetworkingTesting
import Testing

@testable import NetworkingBackgroundTransfers
@testable import NetworkingTransfers

/// The `localizedDescription` of errors other than ``NetworkingError``.
@Suite(.timeLimit(.minutes(20)))
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
        #expect(offline.recoverySuggestion == "Check your internet connection and try again.")
        #expect(other.recoverySuggestion == "Start the transfer again.")
        let cancelled = BackgroundTransferFailure(CancellationError())
        #expect(cancelled.errorDescription == "The transfer was cancelled.")
        #expect(cancelled.failureReason == "The transfer was stopped before its end.")
    }

    @Test(
        arguments: [
            (
                SessionStorageError.damaged(movedTo: URL(filePath: "/home/emily/secret.mp4")) as any LocalizedError,
                "The saved sign-in could not be read.", "Sign in again."
            ),
            (
                SessionStorageError.unusable(reason: "secret.mp4 is a directory."),
                "The sign-in could not be read or saved.", "Check the free space and the connection and try again."
            ),
            (
                OutboxStoreError.fileDamaged(movedTo: nil),
                "Changes that were not sent yet are lost.", "Check your latest changes and make them again."
            ),
            (
                OutboxStoreError.unusable(reason: "secret.mp4 is a directory."),
                "Changes that were not sent yet could not be read or saved.",
                "Check the free space on this device and try again."
            ),
            (
                CookieStorageError.damaged(movedTo: URL(filePath: "/home/emily/secret.mp4")),
                "The saved cookies could not be read.", "Sign in again where you have been signed out."
            ),
            (
                CookieStorageError.unusable(reason: "secret.mp4 is a directory."),
                "The cookies could not be read or saved.", "Check the free space on this device and try again."
            ),
            (
                DownloadStateError(reason: "secret.mp4 is damaged."),
                "A file could not be read or written.", "Check the free space on this device and try again."
            ),
            (
                UploadStateError(reason: "secret.mp4 is damaged."),
                "A file could not be read or written.", "Check the free space on this device and try again."
            ),
        ] as [(any LocalizedError, String, String)]
    )
    func errorOfAStoreHasAllTexts(error: any LocalizedError, description: String, suggestion: String) {
        #expect(error.errorDescription == description)
        #expect(error.recoverySuggestion == suggestion)
        #expect(error.failureReason?.hasSuffix(".") == true)
        #expect(error.failureReason?.contains("secret") == false)
        #expect((error as any Error).localizedDescription == description)
    }

    @Test func limitsHaveTheTextsOfTheirKind() async throws {
        let tooLarge = NetworkingError(.tooLarge, request: .lawful)
        let body = try #require(
            await #expect(throws: RequestBody.Failure.self) {
                try await RequestBody.file(URL(filePath: #filePath)).collect(upTo: 3)
            }
        )
        #expect(body.failureReason == tooLarge.failureReason)
        #expect(body.recoverySuggestion == tooLarge.recoverySuggestion)
        var parser = ServerSentEventParser(maximumEventBytes: 4)
        let event = try #require(throws: StreamTooLong.self) { _ = try parser.parse(Data("data: 0123456789\n\n".utf8)) }
        #expect(event.failureReason == tooLarge.failureReason)
        #expect(event.recoverySuggestion == tooLarge.recoverySuggestion)
    }
}
