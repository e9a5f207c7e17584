#if TestServer && (os(Linux) || os(macOS))
import HTTPTypes
import NetworkingTestServer
import Testing

/// Invalid scripts of the test server stop the test at the line that writes them.
///
/// Each test ends a process. The tests run one at a time, because waiting for a process needs the executor, which
/// thousands of other tests keep busy.
@Suite(.serialized, .timeLimit(.minutes(20)))
struct TestServerPreconditionTests {
    @Test func connectionsAreCountedFromOne() async {
        await #expect(processExitsWith: .failure) {
            try await withTestServer { $0.onConnection(0, .close) }
        }
    }

    @Test func disconnects() async {
        await #expect(processExitsWith: .failure) {
            _ = TestResponse.ok.disconnecting(.close, at: .requestBody(after: 0))
        }
        await #expect(processExitsWith: .failure) {
            _ = TestResponse.ok.disconnecting(.close, at: .responseBody(after: -1))
        }
        await #expect(processExitsWith: .failure) {
            _ = TestResponse.raw("x").disconnecting(.close, at: .responseEnd)
        }
    }

    @Test func informationalResponses() async {
        await #expect(processExitsWith: .failure) { _ = TestResponse.Informational(.ok) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.Informational(.switchingProtocols) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.raw("x").preceded(by: .processing) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.raw("x").trailers([.age: "1"]) }
    }

    @Test func paces() async {
        await #expect(processExitsWith: .failure) { _ = TestResponse.ok.throttled(to: 0, every: .zero) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.ok.throttled(to: 1, every: .seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.ok.readingThrottled(to: 0, every: .zero) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.ok.delayed(head: .seconds(-1)) }
        await #expect(processExitsWith: .failure) { _ = TestResponse.raw("x").throttled(to: 1, every: .zero) }
    }

    @Test func ports() async {
        await #expect(processExitsWith: .failure) { _ = try await TestServer.start(port: 65_536) }
        await #expect(processExitsWith: .failure) { _ = try await TestServer.start(port: -1) }
    }

    @Test func rawResponses() async {
        await #expect(processExitsWith: .failure) { _ = TestResponse.raw(.reset, "more") }
        await #expect(processExitsWith: .failure) { _ = TestResponse.RawStep.drip("x", by: 0) }
    }

    @Test func usesOfARoute() async {
        await #expect(processExitsWith: .failure) {
            try await withTestServer { _ = $0.route("/", times: 0) { _ in .ok } }
        }
    }

    @Test func paths() async {
        await #expect(processExitsWith: .failure) {
            try await withTestServer { _ = $0.route("users") { _ in .ok } }
        }
        await #expect(processExitsWith: .failure) {
            try await withTestServer { _ = $0.route("/*/users") { _ in .ok } }
        }
    }
}
#endif
