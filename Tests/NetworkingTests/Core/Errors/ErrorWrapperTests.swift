import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite struct ErrorWrapperTests {
    private struct ClientFailure: ErrorWrapper {
        let underlyingError: any Error
    }

    private final class Ring: ErrorWrapper {
        var underlyingError: any Error { self }
    }

    private struct Broken: Error {}

    @Test func errorOfTheLibraryIsFoundInWrappers() {
        let offline = NetworkingError(.offline, request: .lawful)
        let error: any Error = ClientFailure(underlyingError: ClientFailure(underlyingError: offline))
        #expect(error.networkingError?.kind == .offline)
        #expect(error.isCancelled == false)
        #expect((ClientFailure(underlyingError: Broken()) as any Error).networkingError == nil)
    }

    @Test func cancellationIsFoundInWrappers() {
        let error: any Error = ClientFailure(underlyingError: CancellationError())
        #expect(error.isCancelled)
        #expect(error.networkingError == nil)
    }

    @Test func wrapperThatContainsItselfHasNoEnd() {
        let error: any Error = Ring()
        #expect(error.networkingError == nil)
        #expect(error.isCancelled == false)
    }
}
