#if Inspector
import CLibraryForNetworking
import FlyingFox
import FlyingSocks
import Foundation
import HTTPTypes
import NetworkingCore

/// The server of the live page, on a port of 127.0.0.1: one request for each connection.
///
/// It uses the sockets and messages of FlyingFox but not its `HTTPServer`. That server reads lines of any length
/// without a time limit, and keeps the last of several lines with the same name, so that no check finds a second
/// `Host`.
struct LivePageServer: Sendable {
    let port: UInt16
    private let socket: AsyncSocket
    private let pool: any AsyncSocketPool

    /// The maximum number of concurrent connections; others wait.
    private static let maximumConnections = 64

    /// Starts listening.
    ///
    /// - Parameter port: The port; 0 for any free port.
    /// - Throws: `SocketError` if the port is not available.
    init(port: UInt16) async throws {
        // The pool is prepared last, because only its run releases what it has opened.
        let pool = HTTPServer.defaultPool()
        let listener = try Socket(listeningOn: port)
        do {
            guard case .ip4(_, let port) = try listener.sockname() else { throw SocketError.unsupportedAddress }
            self.port = port
            self.pool = pool
            socket = try AsyncSocket(socket: listener, pool: pool)
            try await pool.prepare()
        } catch {
            try? listener.close()
            throw error
        }
    }

    /// Serves requests until the caller is cancelled; on return, all connections are closed and the port is free.
    func run(_ page: LivePage) async throws {
        do {
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await pool.run() }
                group.addTask { await accept(page) }
                try await group.next()
                group.cancelAll()
            }
        } catch {
            await socket.end(in: pool)
            throw error
        }
        await socket.end(in: pool)
    }

    private func accept(_ page: LivePage) async {
        await withTaskGroup(of: Void.self) { connections in
            var count = 0
            while !Task.isCancelled {
                if count == Self.maximumConnections {
                    await connections.next()
                    count -= 1
                }
                do {
                    let connection = LivePageConnection(socket: try await socket.accept(), pool: pool)
                    connections.addTask { await connection.serve(page) }
                    count += 1
                } catch {
                    // A connection may break before it is accepted, and file descriptors may be exhausted temporarily.
                    try? await page.clock.sleep(for: .milliseconds(50))
                }
            }
            connections.cancelAll()
        }
    }
}

/// Serves the one request of a connection.
private struct LivePageConnection {
    let socket: AsyncSocket
    let pool: any AsyncSocketPool

    /// The maximum duration of a connection, well above the time that a request waits for changes.
    private static let maximumTime = Duration.seconds(60)
    /// The maximum size of the head, in bytes.
    private static let maximumHead = 32 << 10
    /// The maximum number of bytes read after the head.
    private static let maximumRest = 1 << 20

    func serve(_ page: LivePage) async {
        let deadline = Suspension<Void>()
        let alarm = page.clock.alarm(at: page.clock.now + Self.maximumTime) { deadline.resume() }
        defer { alarm.cancel() }
        await withTaskGroup(of: Void.self) { group in
            group.addTask { try? await exchange(page) }
            group.addTask { try? await deadline.value(until: nil) }
            await group.next()
            group.cancelAll()
        }
        await socket.end(in: pool)
    }

    private func exchange(_ page: LivePage) async throws {
        let head = try await head()
        try await socket.write(try await page.response(toHead: head).message)
        shutdown(socket.socket.file.rawValue, Int32(SHUT_WR))
        // Closing the connection with unread bytes would cause a reset, which discards the response.
        var count = 0
        while count < Self.maximumRest {
            count += try await socket.read(atMost: 4_096).count
        }
    }

    /// Reads the head, without its empty line; `nil` if it is too long.
    private func head() async throws -> ArraySlice<UInt8>? {
        let end = Array("\r\n\r\n".utf8)
        var bytes: [UInt8] = []
        while bytes.count < Self.maximumHead {
            let unread = max(0, bytes.count - end.count + 1)
            bytes += try await socket.read(atMost: 4_096)
            if let range = bytes[unread...].firstRange(of: end) { return bytes[..<range.lowerBound] }
        }
        return nil
    }
}

// MARK: - Messages

extension FlyingFox.HTTPRequest {
    /// Parses the head of a request, without its empty line (RFC 9112); `nil` if it is malformed.
    ///
    /// All lines of a field are kept. The body is not read, because no request of the page has one.
    init?(head: some Collection<UInt8>) {
        guard let text = String(validating: head, as: UTF8.self) else { return nil }
        var lines = text.split(separator: "\r\n", omittingEmptySubsequences: false)[...]
        let parts = lines.popFirst()?.split(separator: " ", omittingEmptySubsequences: false) ?? []
        guard parts.count == 3, parts[1].hasPrefix("/"), parts[2] == "HTTP/1.1" || parts[2] == "HTTP/1.0" else {
            return nil
        }
        var headers = HTTPHeaders()
        for line in lines {
            // A name with a blank before its colon, and a folded line, are not the names that other servers read.
            guard let colon = line.firstIndex(of: ":"), let name = HTTPField.Name(String(line[..<colon])) else {
                return nil
            }
            let value = String(line[line.index(after: colon)...].trimmed)
            guard HTTPField.isValidValue(value) else { return nil }
            headers.addValue(value, for: HTTPHeader(name.rawName))
        }
        let target = parts[1].split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
        self.init(
            method: HTTPMethod(String(parts[0])),
            version: .http11,
            target: Target(path: String(target[0]), query: target.count > 1 ? String(target[1]) : ""),
            headers: headers,
            body: HTTPBodySequence(data: Data())
        )
    }
}

extension FlyingFox.HTTPResponse {
    /// The bytes to send, on a connection that is closed afterwards.
    fileprivate var message: Data {
        get async throws {
            let body = try await bodyData
            var head = "HTTP/1.1 \(statusCode.code) \(statusCode.phrase)\r\n"
            for (name, value) in headers {
                head += "\(name.rawValue): \(value)\r\n"
            }
            head += "Content-Length: \(body.count)\r\nConnection: close\r\n\r\n"
            return Data(head.utf8) + body
        }
    }
}

// MARK: - Sockets

extension Socket {
    fileprivate init(listeningOn port: UInt16) throws {
        try self.init(domain: Int32(AF_INET), type: .stream)
        do {
            // A child process that inherits the socket would keep the port.
            _ = fcntl(file.rawValue, F_SETFD, FD_CLOEXEC)
            // Otherwise the port is unavailable for some time after use.
            try setValue(true, for: .localAddressReuse)
            #if canImport(Darwin)
            // Accepted sockets inherit it; elsewhere FlyingSocks passes MSG_NOSIGNAL with each write.
            try setValue(true, for: .noSIGPIPE)
            #endif
            try bind(to: .inet(ip4: "127.0.0.1", port: port))
        } catch {
            try? close()
            throw error
        }
        // If it fails, it closes the socket.
        try listen()
    }
}

extension AsyncSocket {
    /// Shuts the socket down and closes it; no task may still be waiting for it.
    fileprivate func end(in pool: any AsyncSocketPool) async {
        // The pool resumes the waiter of a socket *before* it removes the socket from its list. Closing the socket in
        // between would leave its number on the list, and the next socket with that number would never be woken.
        await (pool as? any Actor)?.finishCurrentJob()
        shutdown(socket.file.rawValue, Int32(SHUT_RDWR))
        try? close()
    }
}

extension Actor {
    fileprivate func finishCurrentJob() {
        // Without a call that needs the actor, the optimiser would remove the switch to the actor.
        preconditionIsolated()
    }
}
#endif
