#if Valkey
import NIOCore
import Testing

@testable import NetworkingValkey

@Suite struct CommandBytesTests {
    @Test func wordsAreBulkStrings() {
        let command = CommandBytes("SET", "schlüssel", "")
        #expect(String(buffer: command.buffer) == "*3\r\n$3\r\nSET\r\n$10\r\nschlüssel\r\n$0\r\n\r\n")
    }

    @Test(arguments: [0, 1, 9, 10, 99, 100, 12_345])
    func lengthsAreDecimal(length: Int) {
        var command = CommandBytes(count: 100, capacity: 0)
        command.append([UInt8](repeating: 7, count: length))
        #expect(String(buffer: command.buffer).hasPrefix("*100\r\n$\(length)\r\n"))
        #expect(command.buffer.readableBytes == 6 + 1 + "\(length)".count + 2 + length + 2)
    }
}
#endif
