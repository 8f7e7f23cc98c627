// Built by tools/page/build.sh from sources c0e7d3f3650d3885c98068526b52adf4092f2d664875e0849afac964df3dde27
(function(){document.documentElement.classList.add(`live`)})();
