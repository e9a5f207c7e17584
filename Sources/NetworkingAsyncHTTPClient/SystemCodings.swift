#if AsyncHTTPClient
import CLibraryForNetworking
import FoundationForNetworking
public import NetworkingCore

extension [ContentCoding] {
    /// The codings that libraries of the system decode: on Linux br and zstd, each if its library is installed.
    ///
    /// ```swift
    /// let client = HTTPClient(configuration: .networking)
    /// let network = client.decompressedBodies(with: .systemLibraries)
    /// ```
    ///
    /// The libraries are `libbrotlidec.so.1` and `libzstd.so.1`, which Debian has in its packages libbrotli1 and
    /// libzstd1. They are loaded at the first use. A program that is linked statically cannot load them, and on Apple's
    /// platforms there are none; the array is then empty. A zstd body with a window above 8 MiB is refused (RFC 9659).
    public static var systemLibraries: [ContentCoding] {
        #if os(Linux)
        [BrotliLibrary.coding, ZstandardLibrary.coding].compactMap { $0 }
        #else
        []
        #endif
    }
}

#if os(Linux)
/// The size in bytes of the pieces that a decoder produces; the decompression limit is checked for each piece.
private let pieceSize = 64 << 10

/// A library of the system, which stays loaded.
private struct SystemLibrary {
    // Not linked: an app that uses neither coding needs neither library, and no build needs their headers.
    private let handle: UnsafeMutableRawPointer

    init?(_ name: String) {
        guard let handle = dlopen(name, RTLD_NOW | RTLD_LOCAL) else { return nil }
        self.handle = handle
    }

    func function<Function>(_ name: String, as type: Function.Type) -> Function? {
        dlsym(handle, name).map { unsafeBitCast($0, to: type) }
    }
}

// MARK: br

/// The functions of libbrotlidec that decode (`brotli/decode.h`).
private struct BrotliLibrary: Sendable {
    typealias Create = @convention(c) @Sendable (OpaquePointer?, OpaquePointer?, OpaquePointer?) -> OpaquePointer?
    typealias Destroy = @convention(c) @Sendable (OpaquePointer?) -> Void
    typealias Decompress =
        @convention(c) @Sendable (
            OpaquePointer?, UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafePointer<UInt8>?>,
            UnsafeMutablePointer<Int>, UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, UnsafeMutablePointer<Int>?
        ) -> CInt

    /// The results of `decompress`.
    enum Result: CInt {
        case failure, success, needsInput, needsOutput
    }

    let create: Create
    let destroy: Destroy
    let decompress: Decompress

    static let coding: ContentCoding? = BrotliLibrary()
        .map { library in
            ContentCoding("br", decoder: { BrotliDecoder(library) })
        }

    private init?() {
        guard let library = SystemLibrary("libbrotlidec.so.1"),
            let create = library.function("BrotliDecoderCreateInstance", as: Create.self),
            let destroy = library.function("BrotliDecoderDestroyInstance", as: Destroy.self),
            let decompress = library.function("BrotliDecoderDecompressStream", as: Decompress.self)
        else { return nil }
        (self.create, self.destroy, self.decompress) = (create, destroy, decompress)
    }
}

/// A decoder of br (RFC 7932), whose window is at most 16 MiB.
private final class BrotliDecoder: ContentDecoder {
    private let library: BrotliLibrary
    private let state: OpaquePointer?
    private let piece = UnsafeMutablePointer<UInt8>.allocate(capacity: pieceSize)
    private var hasEnded = false

    init(_ library: BrotliLibrary) {
        self.library = library
        state = library.create(nil, nil, nil)
    }

    deinit {
        library.destroy(state)
        piece.deallocate()
    }

    func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
        guard !hasEnded, state != nil else { throw ContentCodingError.malformed }
        try bytes.withUnsafeBytes { bytes in
            var inputCount = bytes.count
            var input = bytes.bindMemory(to: UInt8.self).baseAddress
            while true {
                var room = pieceSize
                var end: UnsafeMutablePointer<UInt8>? = piece
                let result = library.decompress(state, &inputCount, &input, &room, &end, nil)
                if room < pieceSize {
                    try output(Data(bytes: piece, count: pieceSize - room))
                }
                switch BrotliLibrary.Result(rawValue: result) {
                case .needsOutput:
                    continue
                case .needsInput:
                    return
                case .success:
                    hasEnded = true
                    guard inputCount == 0 else { throw ContentCodingError.malformed }
                    return
                case .failure, nil:
                    throw ContentCodingError.malformed
                }
            }
        }
    }

    func finish(_ output: (Data) throws -> Void) throws {
        guard hasEnded else { throw ContentCodingError.truncated }
    }
}

// MARK: zstd

/// The functions of libzstd that decode (`zstd.h`).
private struct ZstandardLibrary: Sendable {
    typealias Create = @convention(c) @Sendable () -> OpaquePointer?
    typealias Free = @convention(c) @Sendable (OpaquePointer?) -> Int
    typealias SetParameter = @convention(c) @Sendable (OpaquePointer?, CInt, CInt) -> Int
    typealias Decompress =
        @convention(c) @Sendable (OpaquePointer?, UnsafeMutablePointer<UInt>, UnsafeMutablePointer<UInt>) -> Int
    typealias IsError = @convention(c) @Sendable (Int) -> CUnsignedInt

    /// `ZSTD_d_windowLogMax`.
    static let maximumWindowParameter: CInt = 100
    /// 8 MiB, which a body in this coding must not exceed (RFC 9659).
    static let maximumWindowLog: CInt = 23

    let create: Create
    let free: Free
    let setParameter: SetParameter
    let decompress: Decompress
    let isError: IsError

    static let coding: ContentCoding? = ZstandardLibrary()
        .map { library in
            ContentCoding("zstd", decoder: { ZstandardDecoder(library) })
        }

    private init?() {
        guard let library = SystemLibrary("libzstd.so.1"),
            let create = library.function("ZSTD_createDCtx", as: Create.self),
            let free = library.function("ZSTD_freeDCtx", as: Free.self),
            let setParameter = library.function("ZSTD_DCtx_setParameter", as: SetParameter.self),
            let decompress = library.function("ZSTD_decompressStream", as: Decompress.self),
            let isError = library.function("ZSTD_isError", as: IsError.self)
        else { return nil }
        (self.create, self.free, self.setParameter) = (create, free, setParameter)
        (self.decompress, self.isError) = (decompress, isError)
    }
}

/// A decoder of zstd (RFC 8878).
private final class ZstandardDecoder: ContentDecoder {
    private let library: ZstandardLibrary
    /// `nil` if there is no memory, or the window cannot be limited.
    private let context: OpaquePointer?
    private let piece = UnsafeMutableRawPointer.allocate(byteCount: pieceSize, alignment: 1)
    // Each is a buffer of `zstd.h`: its address, its size, and the position of the next byte.
    private let input = UnsafeMutablePointer<UInt>.allocate(capacity: 3)
    private let decoded = UnsafeMutablePointer<UInt>.allocate(capacity: 3)
    private var isBetweenFrames = false

    init(_ library: ZstandardLibrary) {
        self.library = library
        guard let context = library.create() else {
            self.context = nil
            return
        }
        let result = library.setParameter(
            context,
            ZstandardLibrary.maximumWindowParameter,
            ZstandardLibrary.maximumWindowLog
        )
        let isLimited = library.isError(result) == 0
        if !isLimited {
            _ = library.free(context)
        }
        self.context = isLimited ? context : nil
    }

    deinit {
        _ = library.free(context)
        piece.deallocate()
        input.deallocate()
        decoded.deallocate()
    }

    func decode(_ bytes: Data, _ output: (Data) throws -> Void) throws {
        guard context != nil else { throw ContentCodingError.malformed }
        try bytes.withUnsafeBytes { bytes in
            (input[0], input[1], input[2]) = (UInt(bitPattern: bytes.baseAddress), UInt(bytes.count), 0)
            var isFull = false
            while input[2] < input[1] || isFull {
                (decoded[0], decoded[1], decoded[2]) = (UInt(bitPattern: piece), UInt(pieceSize), 0)
                let rest = library.decompress(context, decoded, input)
                guard library.isError(rest) == 0 else { throw ContentCodingError.malformed }
                isBetweenFrames = rest == 0
                // At the end of a frame nothing is held back, and another call would begin a new frame.
                isFull = decoded[2] == decoded[1] && !isBetweenFrames
                if decoded[2] > 0 {
                    try output(Data(bytes: piece, count: Int(decoded[2])))
                }
            }
        }
    }

    func finish(_ output: (Data) throws -> Void) throws {
        guard isBetweenFrames else { throw ContentCodingError.truncated }
    }
}
#endif
#endif
