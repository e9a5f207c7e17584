#if TestServer
import FoundationForNetworking

/// Compressed bodies, created by programs other than this library.
enum CodedBody {
    static let text = String(repeating: "Emily, Emil, Emilia and Emilio. ", count: 8)

    /// The text in a coding; nil if there is no data for that coding.
    static func text(in coding: String) -> Data? {
        switch coding {
        case "gzip", "x-gzip": decode("H4sIAAAAAAACA3PNzcyp1FFwBVIQMjNRITEvBcLM1wPTw1keAAsysAUAAQAA")
        case "deflate": decode("eJxzzc3MqdRRcAVSEDIzUSExLwXCzNcD08NZHgB91lSB")
        case "br": decode("G/8A+MVtbF350XmuIXSEql3SQtBmKcABLxTH/QGOOyxoy5pLDA==")
        case "zstd": decode("KLUv/QRoBQEAoEVtaWx5LCBFbWlsaWEgYW5kby4gAwDdoehwGSVD8QLoq6D+")
        case "raw deflate": decode("c83NzKnUUXAFUhAyM1EhMS8FwszXA9PDWR4A")
        case "gzip, gzip":
            decode("H4sIAAAAAAAC/5Pv5mAAAab/xWfPnll5JbCANUjAyDhQ0VCf9dCZ68yXD0fKMXAbbWBlYGRgAABIvBa4LQAAAA==")
        case "deflate, gzip": decode("H4sIAAAAAAAC/6u4VXz27JmVVwILWIMEjIwDFQ31WQ+duc58+XCkHEPttZBGADVs48shAAAA")
        case "identity": Data(text.utf8)
        default: nil
        }
    }

    /// 16 MiB of zeros in 16 KiB of gzip, which mostly repeats the same few bytes.
    static let gzipBomb: Data = {
        var data = Data()
        data += decode("H4sIAAAAAAACA+zBAQEAAACAkP6v7ggK")
        data += Data(repeating: 0, count: 4_094)
        data += decode("gNmDAwEAAAAAIP/XRlA=")
        data += Data(repeating: 85, count: 4_095)
        data += decode("YQ8OBAAAAACA/F8bQQ==")
        data += Data(repeating: 85, count: 4_095)
        data += decode("pT04IAAAAAAQ8v91QwI=")
        data += Data(repeating: 0, count: 3_969)
        data += decode("wFVKoXykAAAAAQ==")
        return data
    }()

    private static func decode(_ base64: String) -> Data {
        // The base64 text is a literal in this file and therefore valid.
        Data(base64Encoded: base64)!
    }
}
#endif
