import Networking
import NetworkingTesting
import Testing

@Suite(.timeLimit(.minutes(20)))
struct UnimplementedTransportTests {
    @Test func everyRequestFailsWithTheMissingStack() async {
        let network = UnimplementedTransport("the network of Profiles").logged(using: .silent)

        let error = await #expect(throws: NetworkingError.self) { try await network.data(.lawful) }

        #expect(error?.kind == .unimplemented)
        #expect(error?.reason.contains("the network of Profiles was never provided") == true)
        #expect(error?.request == .lawful)
    }

    /// The missing stack would set the server, so the requests of an app are relative here.
    @Test func relativeRequestFailsForTheSameReason() async {
        let error = await #expect(throws: NetworkingError.self) {
            try await UnimplementedTransport().data(HTTPRequestData(path: "users"))
        }

        #expect(error?.kind == .unimplemented)
    }
}
