import Foundation

@testable import NetworkingCore
@testable import NetworkingTransfers

#if AsyncHTTPClient
import NIOCore

@testable import NetworkingAsyncHTTPClient
#endif

extension FuzzTarget {
    /// Bodies in memory, and their codings.
    static let bodies = [multipart] + codings

    private static let multipart = FuzzTarget(
        "multipart",
        of: "NetworkingCore/Bodies/MultipartParser.swift",
        "NetworkingCore/Bodies/Multipart.swift"
    ) { bytes in
        let lines = bytes.split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false).map { [UInt8]($0) }
        let boundary = lines[0].text
        let body = lines.count > 1 ? lines[1] : []
        for part in MultipartParser.parts(of: body, boundary: boundary) ?? [] {
            try require(part.bytes.startIndex >= 0 && part.bytes.endIndex <= body.count, "a part is outside")
        }
        // Parts that the library writes are the parts that it reads.
        guard MultipartBody.isBoundary(boundary) else { return }
        let contents = body.split(separator: 0xFF, omittingEmptySubsequences: false).prefix(8).map { Data($0) }
        let written = MultipartBody(
            parts: contents.map { .data($0, name: "part", fileName: "name", contentType: "text/plain") },
            boundary: boundary
        )
        guard var reader = try written.openNow() else { throw FuzzFailure(description: "the body is not in memory") }
        var output: [UInt8] = []
        do {
            while let chunk = try reader.nextNow() {
                output += chunk
            }
        } catch {
            // A part contains the boundary.
            let mark = Array("--\(boundary)".utf8)
            try require(
                contents.contains { [UInt8]($0).firstRange(of: mark) != nil },
                "the parts are refused: \(error)"
            )
            return
        }
        try requireEqual(Int64(output.count), written.length ?? -1, "the body has another length")
        let parts = MultipartParser.parts(of: output, boundary: boundary)
        try requireEqual(parts?.map { Data($0.bytes) }, contents, "the parts change")
        try require(parts?.allSatisfy { $0.name == "part" && $0.fileName == "name" } ?? false, "the names change")
    }

    #if AsyncHTTPClient
    /// The first byte selects the codings.
    private static let codings = [
        FuzzTarget(
            "inflate",
            of: "NetworkingAsyncHTTPClient/BodyDecoder.swift",
            "NetworkingAsyncHTTPClient/SystemCodings.swift"
        ) { bytes in
            guard let first = bytes.first else { return }
            let codings = [["gzip"], ["deflate"], ["gzip", "deflate"], ["br"], ["zstd"]]
            let names = codings[Int(first) % codings.count]
            let decoders = [ContentCoding].systemLibraries
            guard
                names.allSatisfy({ name in name.count > 4 || name == "gzip" || decoders.contains { $0.name == name } })
            else { return }
            let body = Array(bytes.dropFirst())
            let whole = DecodedBody(of: [body], names, decoders)
            let parts = DecodedBody(of: body.chunks, names, decoders)
            try requireEqual(whole.bytes != nil, parts.bytes != nil, "chunks decide whether the body is decoded")
            try requireEqual(whole.bytes, parts.bytes, "chunks change the decoded bytes")
        },
        FuzzTarget(
            "deflate",
            of: "NetworkingTransfers/Compression/Deflate.swift",
            "NetworkingTransfers/Compression/ContentCoding+Deflate.swift"
        ) { input in
            // Some inputs are repeated, because a body must be longer than the window.
            let count = input.first == 255 ? 110_000 / input.count : 1
            let bytes = Array(repeatElement(input, count: count).joined())
            for coding in [ContentCoding.gzip, .deflate] {
                for chunks in count > 1 ? [[bytes]] : [[bytes], bytes.chunks] {
                    guard var encoder = coding.makeEncoder?() else { continue }
                    var encoded: [UInt8] = []
                    for chunk in chunks {
                        encoded += try encoder.encode(Data(chunk))
                    }
                    encoded += try encoder.finish()
                    let decoded = DecodedBody(of: [encoded], [coding.name], [])
                    try requireEqual(decoded.bytes, bytes, "the body changes in \(coding.name)")
                }
            }
        },
    ]
    #else
    private static let codings: [FuzzTarget] = []
    #endif
}

#if AsyncHTTPClient
/// A body without its codings.
private struct DecodedBody {
    /// The bytes; `nil` if the body could not be decoded.
    private(set) var bytes: [UInt8]?

    private struct TooLong: Error {}

    init(of chunks: [[UInt8]], _ codings: [String], _ decoders: [ContentCoding]) {
        let decoder = NetworkingAsyncHTTPClient.BodyDecoder(of: codings, decoding: decoders)
        var output: [UInt8] = []
        func collect(_ count: Int64, _ bytes: ByteBuffer?) throws {
            guard count < 1 << 20 else { throw TooLong() }
            output += bytes.map { Array($0.readableBytesView) } ?? []
        }
        do {
            for chunk in chunks {
                try decoder.decode(ByteBuffer(bytes: chunk)) { try collect($0, $1) }
            }
            try decoder.finish { try collect($0, $1) }
            bytes = output
        } catch {
            bytes = nil
        }
    }
}
#endif
