#if TestServer
import Testing

@testable import NetworkingTestServer

struct AcceptTests {
    private struct Exhausted: Error {}

    /// Without a pause, a listener without file descriptors would occupy a thread.
    @Test func failureIsFollowedByAPause() async {
        let start = ContinuousClock.now
        let peer: Int? = await Listener.accepted { throw Exhausted() }
        #expect(peer == nil)
        #expect(ContinuousClock.now - start >= .milliseconds(10))
    }

    @Test func acceptedConnectionIsReturnedAtOnce() async {
        #expect(await Listener.accepted { 7 } == 7)
    }
}
#endif
