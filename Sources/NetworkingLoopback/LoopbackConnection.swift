#if Inspector || LoopbackRedirect
import CLibraryForNetworking
import FlyingSocks
package import FoundationForNetworking
package import HTTPTypes
import NetworkingCore

/// A connection that carries one request.
package struct LoopbackConnection: Sendable {
    let socket: AsyncSocket

    /// The maximum size of the head, in bytes; some codes of a sign-in are long.
    private static let maximumHead = 32 << 10
    /// The maximum number of bytes read after the head.
    private static let maximumRest = 1 << 20

    init(_ socket: AsyncSocket) {
        socket.socket.keepFromChildren()
        self.socket = socket
    }

    /// Reads the head, without its empty line; returns `nil` if it is too long.
    ///
    /// - Throws: An error if the connection ends before.
    package func head() async throws -> ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        while bytes.count < Self.maximumHead {
            let unread = max(0, bytes.count - end.count + 1)
            bytes += try await socket.read(atMost: 4_096)
            if let range = bytes[unread...].firstRange(of: end) { return bytes[..<range.lowerBound] }
        }
        return nil
    }

    /// Sends the response, and nothing more after it.
    package func respond(with response: Data) async throws {
        try await socket.write(response)
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
    }

    /// Reads until the browser closes the connection: closing it with unread bytes would cause a reset, which discards
    /// the response.
    package func drain() async throws {
        var count = 0
        while count < Self.maximumRest {
            count += try await socket.read(atMost: 4_096).count
        }
    }
}

/// The head of a request (RFC 9112).
package struct LoopbackRequestHead: Sendable {
    package let method: String
    /// The path and the query.
    package let target: String
    /// All lines of all fields.
    package let fields: HTTPFields

    /// Parses a head, without its empty line; `nil` if it is malformed.
    package init?(_ head: some Collection<UInt8>) {
        var lines =
            String(decoding: head, as: UTF8.self).split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let parts = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, parts[1].hasPrefix("/"), ["HTTP/1.1", "HTTP/1.0"].contains(parts[2]) else { return nil }
        var fields = HTTPFields()
        for line in lines {
            // A name with a blank before its colon, and a folded line, are not the names that other servers read.
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                return nil
            }
            let value = String(line[line.index(after: colon)...].trimmed)
            guard HTTPField.isValidValue(value) else { return nil }
            fields.append(HTTPField(name: name, value: value))
        }
        (method, target, self.fields) = (String(parts[0]), String(parts[1]), fields)
    }

    /// The `Host` field; `nil` unless there is exactly one.
    package var host: String? {
        let hosts = fields.filter { $0.name.canonicalName == "host" }
        return hosts.count == 1 ? hosts[0].value : nil
    }
}

extension Socket {
    /// Prevents child processes from inheriting the socket: a browser that was started here would keep the port.
    func keepFromChildren() {
        _ = fcntl(file.rawValue, F_SETFD, FD_CLOEXEC)
    }
}
#endif
