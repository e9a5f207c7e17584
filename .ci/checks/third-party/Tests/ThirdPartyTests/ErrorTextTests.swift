import Foundation
import Networking
import Testing

/// The texts for the user of an app, as another package reads them.
@Suite(.timeLimit(.minutes(20)))
struct ErrorTextTests {
    @Test func errorsOfStoresHaveTheirOwnTexts() {
        let error = CookieStorageError.unusable(reason: "The directory is missing.")
        #expect(error.errorDescription == "The cookies could not be read or saved.")
        #expect(error.failureReason?.contains("not enough free space") == true)
        #expect(error.recoverySuggestion == "Check the free space on this device and try again.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
    }

    @Test func errorsOfRequestsHaveTheTextsOfTheirKind() {
        let error = NetworkingError(.offline, request: HTTPRequestData())
        #expect(error.errorDescription == "There is no internet connection.")
        #expect((error as any Error).localizedDescription == error.errorDescription)
    }
}
