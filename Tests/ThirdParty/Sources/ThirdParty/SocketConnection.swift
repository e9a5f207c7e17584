import Dispatch
import Foundation

#if canImport(Glibc)
import Glibc
#endif

/// A connected socket, whose calls block a queue of its own.
///
/// It closes when it is released.
final class SocketConnection: Sendable {
    private let descriptor: Int32
    private let queue: DispatchQueue

    private init(descriptor: Int32, queue: DispatchQueue) {
        (self.descriptor, self.queue) = (descriptor, queue)
    }

    deinit {
        close(descriptor)
    }

    static func open(host: String, port: Int, allowedSilence: Duration?) async throws -> SocketConnection {
        try Task.checkCancellation()
        let queue = DispatchQueue(label: "ThirdParty.SocketConnection")
        let connection = try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        let descriptor = try connectSocket(to: host, port: port, allowedSilence: allowedSilence)
                        return SocketConnection(descriptor: descriptor, queue: queue)
                    }
                )
            }
        }
        try Task.checkCancellation()
        return connection
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

    /// Runs a call on the queue, which a cancellation of the caller ends.
    private func run<Value: Sendable>(_ call: @escaping @Sendable (Int32) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        let value = try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in continuation.resume(with: Result { try call(descriptor) }) }
            }
        } onCancel: {
            _ = shutdown(descriptor, Int32(SHUT_RDWR))
        }
        try Task.checkCancellation()
        return value
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

private func connectSocket(to host: String, port: Int, allowedSilence: Duration?) throws -> Int32 {
    var hints = addrinfo()
    hints.ai_socktype = stream
    var list: UnsafeMutablePointer<addrinfo>?
    let name = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
    guard getaddrinfo(name, "\(port)", &hints, &list) == 0 else { throw SocketFailure.unknownHost }
    defer { freeaddrinfo(list) }
    var next = list
    while let address = next?.pointee {
        next = address.ai_next
        let descriptor = socket(address.ai_family, address.ai_socktype, address.ai_protocol)
        guard descriptor >= 0 else { continue }
        if let allowedSilence {
            var time = timeval()
            time.tv_sec = Int(allowedSilence.components.seconds) + 1
            for option in [SO_RCVTIMEO, SO_SNDTIMEO] {
                setsockopt(descriptor, SOL_SOCKET, option, &time, socklen_t(MemoryLayout<timeval>.size))
            }
        }
        if connect(descriptor, address.ai_addr, address.ai_addrlen) == 0 { return descriptor }
        close(descriptor)
    }
    throw SocketFailure.refused
}
