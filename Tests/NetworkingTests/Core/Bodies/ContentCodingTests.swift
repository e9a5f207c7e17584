import Foundation
import Networking
import NetworkingTesting
import Testing

@Suite
struct ContentCodingTests {
    @Test func nameIsInLowerCase() {
        #expect(ContentCoding("X-Example").name == "x-example")
        #expect("\(ContentCoding("BR"))" == "br")
    }

    @Test func diagnosticsReportDecodersThatNoTransportReads() {
        let request = HTTPRequestData.lawful.with { $0.contentDecoders = [ContentCoding("br")] }
        let transport = MockTransport { _ in .ok() }
        #expect(transport.diagnostics(for: request).contains { "\($0)".contains("contentDecoders") })
    }

    @Test func stackSetsDecodersThatTheRequestDoesNotHave() {
        struct Inert: ContentDecoder {
            func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {}
            func finish(_ output: (Data) throws -> Void) throws {}
        }
        let network = MockTransport { _ in .ok() }
            .decompressedBodies(with: [ContentCoding("a", decoder: { Inert() }), ContentCoding("b")])
        #expect(network.resolved(.lawful).contentDecoders.map(\.name) == ["a"])
        let own = HTTPRequestData.lawful.with { $0.contentDecoders = [ContentCoding("c")] }
        #expect(network.resolved(own).contentDecoders.map(\.name) == ["c"])
    }
}
