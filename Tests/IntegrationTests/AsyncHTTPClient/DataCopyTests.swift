#if AsyncHTTPClient
@testable import NetworkingAsyncHTTPClient
import NIOCore
import NIOEmbedded
import NIOHTTP2
import Testing

@Suite struct DataCopyTests {
    @Test(arguments: [0, 1, 16_384])
    func contentIsACopyThatKeepsNoLargerBuffer(count: Int) throws {
        let collected = ByteBuffer(repeating: 7, count: 1 << 20)
        let slice = try #require(collected.getSlice(at: 5, length: count))
        let channel = EmbeddedChannel(handler: DataCopy())
        try channel.writeInbound(
            HTTP2Frame(streamID: 1, payload: .data(.init(data: .byteBuffer(slice), endStream: true, paddingBytes: 3)))
        )
        let frame = try #require(try channel.readInbound(as: HTTP2Frame.self))
        guard case .data(let content) = frame.payload, case .byteBuffer(let bytes) = content.data else {
            Issue.record("\(frame)")
            return
        }
        #expect(frame.streamID == 1 && content.endStream && content.paddingBytes == 3)
        #expect(bytes == slice)
        #expect(bytes.storageCapacity < 1 << 16)
    }

    @Test func otherFramesPass() throws {
        let channel = EmbeddedChannel(handler: DataCopy())
        try channel.writeInbound(HTTP2Frame(streamID: 0, payload: .ping(HTTP2PingData(withInteger: 9), ack: true)))
        let frame = try #require(try channel.readInbound(as: HTTP2Frame.self))
        guard case .ping(let data, ack: true) = frame.payload else {
            Issue.record("\(frame)")
            return
        }
        #expect(data == HTTP2PingData(withInteger: 9))
    }
}
#endif
