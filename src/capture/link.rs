//! Link types and their names.

use std::borrow::Cow;

/// A link type, by its number in the registry of tcpdump.org.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct LinkType(pub u16);

impl LinkType {
    /// BSD loopback: the address family in the byte order of the recording host.
    pub const NULL: Self = Self(0);
    /// Ethernet.
    pub const ETHERNET: Self = Self(1);
    /// Token Ring.
    pub const IEEE802_5: Self = Self(6);
    /// PPP.
    pub const PPP: Self = Self(9);
    /// FDDI.
    pub const FDDI: Self = Self(10);
    /// PPP in HDLC framing.
    pub const PPP_HDLC: Self = Self(50);
    /// PPPoE, from its session header on.
    pub const PPP_ETHER: Self = Self(51);
    /// IPv4 or IPv6 without a link header.
    pub const RAW: Self = Self(101);
    /// Cisco HDLC.
    pub const C_HDLC: Self = Self(104);
    /// IEEE 802.11.
    pub const IEEE802_11: Self = Self(105);
    /// OpenBSD loopback: the address family in network byte order.
    pub const LOOP: Self = Self(108);
    /// What `tcpdump -i any` wrote before libpcap 1.10.
    pub const LINUX_SLL: Self = Self(113);
    /// IEEE 802.11 behind a Prism header.
    pub const IEEE802_11_PRISM: Self = Self(119);
    /// IEEE 802.11 behind a radiotap header.
    pub const IEEE802_11_RADIOTAP: Self = Self(127);
    /// IEEE 802.11 behind an AVS header.
    pub const IEEE802_11_AVS: Self = Self(163);
    /// MPLS, from its first label on.
    pub const MPLS: Self = Self(219);
    /// IPv4 without a link header.
    pub const IPV4: Self = Self(228);
    /// IPv6 without a link header.
    pub const IPV6: Self = Self(229);
    /// What `tcpdump -i any` writes since libpcap 1.10.
    pub const LINUX_SLL2: Self = Self(276);

    /// The link type that a number in a file stands for. Old programs wrote
    /// their system's number of raw IP, which is 12 or 14 (OpenBSD), before
    /// 101 was registered for it.
    pub(super) const fn declared(number: u16) -> Self {
        match number {
            12 | 14 => Self::RAW,
            _ => Self(number),
        }
    }

    /// Its name in the registry, without `LINKTYPE_`; its number in decimal
    /// where the registry has none.
    /// Source: <https://www.tcpdump.org/linktypes.html>, August 2026.
    #[must_use]
    pub fn name(self) -> Cow<'static, str> {
        Cow::Borrowed(match self.0 {
            0 => "NULL",
            1 => "ETHERNET",
            2 => "EXP_ETHERNET",
            3 => "AX25",
            4 => "PRONET",
            5 => "CHAOS",
            6 => "IEEE802_5",
            7 => "ARCNET_BSD",
            8 => "SLIP",
            9 => "PPP",
            10 => "FDDI",
            50 => "PPP_HDLC",
            51 => "PPP_ETHER",
            99 => "SYMANTEC_FIREWALL",
            100 => "ATM_RFC1483",
            101 => "RAW",
            102 => "SLIP_BSDOS",
            103 => "PPP_BSDOS",
            104 => "C_HDLC",
            105 => "IEEE802_11",
            106 => "ATM_CLIP",
            107 => "FRELAY",
            108 => "LOOP",
            109 => "ENC",
            110 => "LANE8023",
            111 => "HIPPI",
            112 => "NETBSD_HDLC",
            113 => "LINUX_SLL",
            114 => "LTALK",
            117 => "PFLOG",
            119 => "IEEE802_11_PRISM",
            122 => "IP_OVER_FC",
            123 => "SUNATM",
            127 => "IEEE802_11_RADIOTAP",
            128 => "TZSP",
            129 => "ARCNET_LINUX",
            130 => "JUNIPER_MLPPP",
            131 => "JUNIPER_MLFR",
            132 => "JUNIPER_ES",
            133 => "JUNIPER_GGSN",
            134 => "JUNIPER_MFR",
            135 => "JUNIPER_ATM2",
            136 => "JUNIPER_SERVICES",
            137 => "JUNIPER_ATM1",
            138 => "APPLE_IP_OVER_IEEE1394",
            139 => "MTP2_WITH_PHDR",
            140 => "MTP2",
            141 => "MTP3",
            142 => "SCCP",
            143 => "DOCSIS",
            144 => "LINUX_IRDA",
            145 => "IBM_SP",
            146 => "IBM_SN",
            163 => "IEEE802_11_AVS",
            164 => "JUNIPER_MONITOR",
            165 => "BACNET_MS_TP",
            166 => "PPP_PPPD",
            167 => "JUNIPER_PPPOE",
            168 => "JUNIPER_PPPOE_ATM",
            169 => "GPRS_LLC",
            170 => "GPF_T",
            171 => "GPF_F",
            172 => "GCOM_T1E1",
            173 => "GCOM_SERIAL",
            174 => "JUNIPER_PIC_PEER",
            175 => "ERF_ETH",
            176 => "ERF_POS",
            177 => "LINUX_LAPD",
            178 => "JUNIPER_ETHER",
            179 => "JUNIPER_PPP",
            180 => "JUNIPER_FRELAY",
            181 => "JUNIPER_CHDLC",
            182 => "MFR",
            183 => "JUNIPER_VP",
            184 => "A429",
            185 => "A653_ICM",
            186 => "USB_FREEBSD",
            187 => "BLUETOOTH_HCI_H4",
            188 => "IEEE802_16_MAC_CPS",
            189 => "USB_LINUX",
            190 => "CAN20B",
            191 => "IEEE802_15_4_LINUX",
            192 => "PPI",
            193 => "IEEE802_16_MAC_CPS_RADIO",
            194 => "JUNIPER_ISM",
            195 => "IEEE802_15_4_WITHFCS",
            196 => "SITA",
            197 => "ERF",
            198 => "RAIF1",
            199 => "IPMB_KONTRON",
            200 => "JUNIPER_ST",
            201 => "BLUETOOTH_HCI_H4_WITH_PHDR",
            202 => "AX25_KISS",
            203 => "LAPD",
            204 => "PPP_WITH_DIR",
            205 => "C_HDLC_WITH_DIR",
            206 => "FRELAY_WITH_DIR",
            207 => "LAPB_WITH_DIR",
            209 => "I2C_LINUX",
            210 => "FLEXRAY",
            211 => "MOST",
            212 => "LIN",
            213 => "X2E_SERIAL",
            214 => "X2E_XORAYA",
            215 => "IEEE802_15_4_NONASK_PHY",
            216 => "LINUX_EVDEV",
            217 => "GSMTAP_UM",
            218 => "GSMTAP_ABIS",
            219 => "MPLS",
            220 => "USB_LINUX_MMAPPED",
            221 => "DECT",
            222 => "AOS",
            223 => "WIHART",
            224 => "FC_2",
            225 => "FC_2_WITH_FRAME_DELIMS",
            226 => "IPNET",
            227 => "CAN_SOCKETCAN",
            228 => "IPV4",
            229 => "IPV6",
            230 => "IEEE802_15_4_NOFCS",
            231 => "DBUS",
            232 => "JUNIPER_VS",
            233 => "JUNIPER_SRX_E2E",
            234 => "JUNIPER_FIBRECHANNEL",
            235 => "DVB_CI",
            236 => "MUX27010",
            237 => "STANAG_5066_D_PDU",
            238 => "JUNIPER_ATM_CEMIC",
            239 => "NFLOG",
            240 => "NETANALYZER",
            241 => "NETANALYZER_TRANSPARENT",
            242 => "IPOIB",
            243 => "MPEG_2_TS",
            244 => "NG40",
            245 => "NFC_LLCP",
            246 => "PFSYNC",
            247 => "INFINIBAND",
            248 => "SCTP",
            249 => "USBPCAP",
            250 => "RTAC_SERIAL",
            251 => "BLUETOOTH_LE_LL",
            252 => "WIRESHARK_UPPER_PDU",
            253 => "NETLINK",
            254 => "BLUETOOTH_LINUX_MONITOR",
            255 => "BLUETOOTH_BREDR_BB",
            256 => "BLUETOOTH_LE_LL_WITH_PHDR",
            257 => "PROFIBUS_DL",
            258 => "PKTAP",
            259 => "EPON",
            260 => "IPMI_HPM_2",
            261 => "ZWAVE_R1_R2",
            262 => "ZWAVE_R3",
            263 => "WATTSTOPPER_DLM",
            264 => "ISO_14443",
            265 => "RDS",
            266 => "USB_DARWIN",
            267 => "OPENFLOW",
            268 => "SDLC",
            269 => "TI_LLN_SNIFFER",
            270 => "LORATAP",
            271 => "VSOCK",
            272 => "NORDIC_BLE",
            273 => "DOCSIS31_XRA31",
            274 => "ETHERNET_MPACKET",
            275 => "DISPLAYPORT_AUX",
            276 => "LINUX_SLL2",
            277 => "SERCOS_MONITOR",
            278 => "OPENVIZSLA",
            279 => "EBHSCR",
            280 => "VPP_DISPATCH",
            281 => "DSA_TAG_BRCM",
            282 => "DSA_TAG_BRCM_PREPEND",
            283 => "IEEE802_15_4_TAP",
            284 => "DSA_TAG_DSA",
            285 => "DSA_TAG_EDSA",
            286 => "ELEE",
            287 => "Z_WAVE_SERIAL",
            288 => "USB_2_0",
            289 => "ATSC_ALP",
            290 => "ETW",
            291 => "NETANALYZER_NG",
            292 => "ZBOSS_NCP",
            293 => "USB_2_0_LOW_SPEED",
            294 => "USB_2_0_FULL_SPEED",
            295 => "USB_2_0_HIGH_SPEED",
            296 => "AUERSWALD_LOG",
            297 => "ZWAVE_TAP",
            298 => "SILABS_DEBUG_CHANNEL",
            299 => "FIRA_UCI",
            300 => "MDB",
            301 => "DECT_NR",
            302 => "EDK2_MM",
            303 => "DEBUG_ONLY",
            304 => "DECT_NR_TAP",
            number => {
                return Cow::Owned(match number {
                    // Reserved for private use.
                    147..=162 => format!("USER{}", number - 147),
                    _ => number.to_string(),
                });
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_the_registrys() {
        assert_eq!(LinkType::ETHERNET.name(), "ETHERNET");
        assert_eq!(LinkType::LINUX_SLL2.name(), "LINUX_SLL2");
        assert_eq!(LinkType(105).name(), "IEEE802_11");
        assert_eq!(LinkType(147).name(), "USER0");
        assert_eq!(LinkType(162).name(), "USER15");
        assert_eq!(LinkType(65000).name(), "65000");
    }

    #[test]
    fn old_numbers_of_raw_ip_are_raw_ip() {
        assert_eq!(LinkType::declared(12), LinkType::RAW);
        assert_eq!(LinkType::declared(14), LinkType::RAW);
        assert_eq!(LinkType::declared(1), LinkType::ETHERNET);
    }
}
