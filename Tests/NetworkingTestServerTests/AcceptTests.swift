#if TestServer
import Testing

@testable import NetworkingTestServer

struct AcceptTests {
    private struct Exhausted: Error {}

    /// Without a pause, a listener without file descriptors would occupy a thread.
    @Test func failureIsFollowedByAPause() async {
        var pauses = 0
        let peer: Int? = await Listener.accepted(pausing: { pauses += 1 }, { throw Exhausted() })
        #expect(peer == nil)
        #expect(pauses == 1)
    }

    @Test func acceptedConnectionIsReturnedAtOnce() async {
        #expect(await Listener.accepted { 7 } == 7)
    }
}
#endif
