import Foundation
import Networking

#if canImport(Glibc)
import Glibc
#endif

/// A socket that runs each blocking call on a new thread.
///
/// It closes when it is released.
final class SocketConnection: Sendable {
    private let descriptor: Int32

    private init(descriptor: Int32) {
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// Connects to the first address of a host that accepts.
    static func open(
        host: String,
        port: Int,
        allowedSilence: Duration?,
        limit: ExchangeLimit?
    ) async throws -> SocketConnection {
        try Task.checkCancellation()
        let addresses = try await onThread { try SocketAddress.all(of: host, port: port) }
        for address in addresses {
            let descriptor = socket(address.family, stream, 0)
            guard descriptor >= 0 else { continue }
            let connection = SocketConnection(descriptor: descriptor)
            if let allowedSilence {
                connection.limitSilence(to: allowedSilence)
            }
            let alarm = limit?.alarm { connection.shutDown() }
            defer { alarm?.cancel() }
            do {
                try await connection.run { descriptor in
                    guard address.connect(descriptor) else { throw SocketFailure.refused }
                }
                return connection
            } catch is SocketFailure where limit?.isReached != true {
                try Task.checkCancellation()
            }
        }
        throw SocketFailure.refused
    }

    /// Ends all calls of the socket.
    func shutDown() {
        _ = shutdown(descriptor, Int32(SHUT_RDWR))
    }

    private func limitSilence(to limit: Duration) {
        var time = timeval()
        time.tv_sec = .init(limit.components.seconds + 1)
        for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
            setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
        }
    }

    /// Writes all bytes.
    func write(_ data: Data) async throws {
        try await run { descriptor in
            try data.withUnsafeBytes { bytes in
                var rest = bytes[...]
                while !rest.isEmpty {
                    let count = send(
                        descriptor,
                        UnsafeRawBufferPointer(rebasing: rest).baseAddress,
                        rest.count,
                        noSignal
                    )
                    guard count > 0 else { throw SocketFailure.ofLastCall }
                    rest = rest.dropFirst(count)
                }
            }
        }
    }

    /// Reads the next bytes; empty at the end.
    func read() async throws -> Data {
        try await run { descriptor in
            var data = Data(count: 64 << 10)
            let count = data.withUnsafeMutableBytes { recv(descriptor, $0.baseAddress, $0.count, 0) }
            guard count >= 0 else { throw SocketFailure.ofLastCall }
            return data.prefix(count)
        }
    }

    /// Runs a blocking call on a new thread.
    ///
    /// A cancellation of the caller ends the call. Blocking calls on dispatch queues would use up the threads that all
    /// queues share.
    private func run<Value: Sendable>(_ call: @escaping @Sendable (Int32) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let value = try await withTaskCancellationHandler {
            try await onThread { [self] in try call(descriptor) }
        } onCancel: {
            shutDown()
        }
        try Task.checkCancellation()
        return value
    }
}

private func onThread<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try work() }) }
    }
}

#if canImport(Glibc)
private let noSignal = Int32(MSG_NOSIGNAL)
private let stream = Int32(SOCK_STREAM.rawValue)
#else
private let noSignal: Int32 = 0
private let stream = SOCK_STREAM
#endif

extension SocketFailure {
    /// The failure of the last call of the thread.
    fileprivate static var ofLastCall: SocketFailure {
        errno == EAGAIN || errno == EWOULDBLOCK ? .silent : .lost
    }
}

/// A network address of a host.
private struct SocketAddress: Sendable {
    let family: Int32
    private let bytes: [UInt8]

    static func all(of host: String, port: Int) throws -> [SocketAddress] {
        var hints = addrinfo()
        hints.ai_socktype = stream
        var list: UnsafeMutablePointer<addrinfo>?
        let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
        guard getaddrinfo(name, "\(port)", &hints, &list) == 0 else { throw SocketFailure.unknownHost }
        defer { freeaddrinfo(list) }
        var addresses: [SocketAddress] = []
        var next = list
        while let address = next?.pointee {
            let bytes = UnsafeRawBufferPointer(start: address.ai_addr, count: Int(address.ai_addrlen))
            addresses.append(SocketAddress(family: address.ai_family, bytes: Array(bytes)))
            next = address.ai_next
        }
        return addresses
    }

    /// Connects a socket, and returns whether that succeeded.
    func connect(_ descriptor: Int32) -> Bool {
        bytes.withUnsafeBytes { bytes in
            guard let address = bytes.assumingMemoryBound(to: sockaddr.self).baseAddress else { return false }
            return callConnect(descriptor, address, socklen_t(bytes.count)) == 0
        }
    }
}

/// Calls the system's function, which the method above hides.
private func callConnect(_ descriptor: Int32, _ address: UnsafePointer<sockaddr>, _ length: socklen_t) -> Int32 {
    connect(descriptor, address, length)
}
